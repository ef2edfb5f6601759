import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Literal,
    Padding,
    PerDim,
    Real,
    Size,
    explicit_padding,
    function,
    require,
)


@function
def pool(
    x: Real["*batch *spatial channels if channel_last else *batch *spatial"],
    *,
    reduction: Literal["max", "min", "sum", "avg"],  #: what is made of a window
    spatial_dims: Size,  #: number of spatial axes
    window: PerDim[Size],  #: size of the window
    strides: PerDim[Size] = 1,  #: steps from window to window
    padding: Padding = "VALID",  #: of the input, with the identity of the reduction
    dilation: PerDim[Size] = 1,  #: steps from element to element of the window
    ceil_mode: bool = False,  #: whether a last window may end beyond the padding
    channel_last: bool = False,  #: whether an axis of channels follows the spatial axes
    input_dilation: PerDim[Size] = 1,  #: steps between elements of the input
) -> Real["*batch *out_spatial channels if channel_last else *batch *out_spatial"]:
    """Reduces windows of the spatial axes, in the dtype of x.

    Sums of integers are modulo what their dtype holds, and means are of floating numbers.

    Channels that are first are among the batch axes. Where several elements of a window
    are the largest, the gradient goes to one of them, or in parts to all. A mean divides
    before it adds, so that large elements do not overflow. What `input_dilation` puts between
    elements is what they are padded with.
    """
    after = 1 if channel_last else 0
    before = x.ndim - spatial_dims - after
    average = reduction == "avg"
    floating = jnp.issubdtype(x.dtype, jnp.floating)
    require(
        floating or not average,
        "means are of floating numbers: cast integers first, as in x.astype(jnp.float32)",
    )
    limits = jnp.finfo(x.dtype) if floating else jnp.iinfo(x.dtype)
    reduce, identity = {
        "max": (lax.max, -math.inf if floating else limits.min),
        "min": (lax.min, math.inf if floating else limits.max),
    }.get(reduction, (lax.add, 0))
    if max(input_dilation) > 1:
        require(
            all(
                e == 1 or d == 1 for d, e in zip(dilation, input_dilation, strict=True)
            ),
            "an axis has a dilation of the window or of the input",
        )
        require(
            all(w >= e for w, e in zip(window, input_dilation, strict=True)),
            "the window must reach from element to element of the input",
        )
        interior = tuple((0, 0, e - 1) for e in input_dilation)
        around = ((0, 0, 0),)
        x = lax.pad(
            x, x.dtype.type(identity), around * before + interior + around * after
        )
    size = x.shape[before : before + spatial_dims]
    pairs = explicit_padding(padding, size, window, strides, dilation, ceil_mode)
    require(
        isinstance(padding, str)
        or all(
            max(pair) <= (w - 1) * d
            for pair, w, d in zip(pairs, window, dilation, strict=True)
        ),
        "padding must be smaller than the window",
    )
    require(
        all(
            low == 0 or n >= d
            for n, d, (low, _) in zip(size, dilation, pairs, strict=True)
        ),
        "what is padded must be as large as the dilation",
    )
    pairs = ((0, 0),) * before + pairs + ((0, 0),) * after
    narrow = floating and limits.bits <= 16
    if max(dilation) == 1 if reduction in ("max", "min") else not narrow:
        return lax.reduce_window(
            x / math.prod(window) if average else x,
            x.dtype.type(identity),
            reduce,
            (1,) * before + window + (1,) * after,
            (1,) * before + strides + (1,) * after,
            pairs,
            window_dilation=(1,) * before + dilation + (1,) * after,
        )
    # The gradient of reduce_window does not know dilation, and its sums of 16-bit numbers
    # lose digits with every element. Here windows of 1, 2, 4 ... elements are joined.
    y = lax.pad(x, x.dtype.type(identity), [(low, high, 0) for low, high in pairs])
    for axis, w, s, d in zip(
        range(before, before + spatial_dims), window, strides, dilation, strict=True
    ):
        count = y.shape[axis] - (w - 1) * d
        # A size that is a symbol cannot be compared: it is one that has windows.
        if isinstance(count, int) and count <= 0:
            y = lax.slice_in_dim(y, 0, 0, 1, axis)
            continue
        whole = 2 ** (w - 1).bit_length()
        parts, start, size = [], 0, 1
        while size <= w:
            if w & size:
                part = lax.slice_in_dim(y, start * d, start * d + count, s, axis)
                parts.append(part * (size / whole) if average else part)
                start += size
            rest = y.shape[axis] - size * d
            size *= 2
            if size <= w:
                left = lax.slice_in_dim(y, 0, rest, 1, axis)
                right = lax.slice_in_dim(y, y.shape[axis] - rest, None, 1, axis)
                y = 0.5 * left + 0.5 * right if average else reduce(left, right)
        y = parts[0]
        for part in parts[1:]:
            y = reduce(y, part)
        # A quotient of small integers over a power of two has no rounding of its own.
        y = y / (w / whole) if average else y
    return y
