"""What windows of arrays are made of."""

from collections.abc import Sequence

from jax import lax

from .checks import Padding


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
        # Some versions of jax give NumPy's integers.
        pairs = tuple((int(low), int(high)) for low, high in found)
    else:
        pairs = padding
    if not ceil:
        return pairs
    extended = []
    for n, r, s, (low, high) in zip(size, reach, strides, pairs, strict=True):
        # Starts of windows are multiples of the stride, and stand before the padding's end.
        last = min(-(-(low + n + high - r) // s), (low + n - 1) // s)
        extended.append((low, max(high, last * s + r - low - n)))
    return tuple(extended)
