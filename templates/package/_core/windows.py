"""What windows of arrays are made of."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import max_dim, min_dim
from jax.export import is_symbolic_dim

from .checks import Padding

_MODES = {
    "zeros": "constant",
    "reflect": "reflect",
    "replicate": "edge",
    "circular": "wrap",
}
"""What `jnp.pad` calls what an array is padded with."""


def explicit_padding(
    padding: Padding,
    size: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int] | None = None,
    ceil: bool = False,
) -> tuple[tuple[int, int], ...]:
    """The pairs that a padding stands for.

    "SAME" makes as many windows as strides fit into the axis, "SAME_LOWER" too, with the odd
    element before; "CAUSAL" pads before, so that windows end with the element they belong to.

    Args:
        padding: a word, or the pairs themselves.
        size: size of each axis.
        window: size of the window along it.
        strides: steps from window to window.
        dilation: steps from element to element of the window; None: 1.
        ceil: whether to add what the last window lacks, if it starts inside.
    """
    reach = [
        (w - 1) * d + 1
        for w, d in zip(window, dilation or (1,) * len(window), strict=True)
    ]
    if padding == "CAUSAL":
        pairs = tuple((r - 1, 0) for r in reach)
    elif isinstance(padding, str):
        found = lax.padtype_to_pads(size, reach, strides, padding)
        pairs = tuple((_number(low), _number(high)) for low, high in found)
    else:
        pairs = padding
    if not ceil:
        return pairs
    extended = []
    for n, r, s, (low, high) in zip(size, reach, strides, pairs, strict=True):
        # Starts of windows are multiples of the stride, and stand before the padding's end.
        last = min_dim(-(-(low + n + high - r) // s), (low + n - 1) // s)
        extended.append((low, max_dim(high, last * s + r - low - n)))
    return tuple(extended)


def _number(size: Any) -> Any:
    """An integer of Python, of which some versions of jax make NumPy's; or what has a symbol in it."""
    return size if is_symbolic_dim(size) else int(size)


def pad_axes(
    x: jax.Array, pairs: Sequence[tuple[int, int]], first: int, padding_mode: str
) -> jax.Array:
    """An array that is padded along some axes. Sizes and pairs may have symbols in them.

    Args:
        x: the array.
        pairs: the numbers of elements before and after, of each axis.
        first: the first of the axes.
        padding_mode: "zeros", or what repeats x: "reflect", "replicate" or "circular".
    """
    widths: list[tuple[int, int]] = [(0, 0)] * x.ndim
    widths[first : first + len(pairs)] = pairs
    if padding_mode in ("reflect", "circular"):
        # What `jnp.pad` repeats depends on which of a size and a width is larger.
        for axis, (low, high) in enumerate(widths):
            size = x.shape[axis]
            if (low, high) != (0, 0) and any(map(is_symbolic_dim, (low, size, high))):
                places = _repeated(low, size, high, padding_mode == "circular")
                x = jnp.take(x, places, axis, mode="clip")
                widths[axis] = (0, 0)
    return jnp.pad(x, widths, _MODES[padding_mode])


def _repeated(low: Any, size: Any, high: Any, circular: bool) -> jax.Array:
    """The places of an axis that stand along it when it is padded."""
    places = jnp.arange(low + size + high) - low
    if circular:
        return places % size
    period = jnp.maximum(2 * size - 2, 1)
    places = places % period
    return jnp.minimum(places, period - places)
