from jax import lax

from mlax_scaffold.spec import (
    Extended,
    Float,
    Padding,
    PerDim,
    Reduction,
    Size,
    explicit_padding,
    function,
)


@function
def reduce_windows(
    x: Float["*batch *spatial channels if channel_last else *batch *spatial"],
    *,
    reduction: Reduction,  #: what is made of two elements, such as jax.lax.add
    initial: Extended,  #: what the input is padded with: an identity of the reduction
    spatial_dims: Size,  #: number of spatial axes
    window: PerDim[Size],  #: size of the window
    strides: PerDim[Size] = 1,  #: steps from window to window
    padding: Padding = "VALID",  #: of the input, with `initial`
    dilation: PerDim[Size] = 1,  #: steps from element to element of the window
    ceil_mode: bool = False,  #: whether a last window may end beyond the padding
    channel_last: bool = False,  #: whether an axis of channels follows the spatial axes
    input_dilation: PerDim[Size] = 1,  #: steps between elements of the input
) -> Float["*batch *out_spatial channels if channel_last else *batch *out_spatial"]:
    """Joins the elements of each window of the spatial axes by any reduction, in pairs.

    What `max_pool` and `sum_pool` do with maximum and sum, and with any gradient that the
    reduction has. Unlike that of jax.lax.reduce_window, `initial` counts in no window without
    padding, and each axis takes one call of the reduction for an element of the window.
    """
    after = 1 if channel_last else 0
    before = x.ndim - spatial_dims - after
    around = ((0, 0, 0),)
    fill = x.dtype.type(initial)
    gaps = tuple((0, 0, e - 1) for e in input_dilation)
    y = lax.pad(x, fill, around * before + gaps + around * after)
    size = y.shape[before : before + spatial_dims]
    pairs = explicit_padding(padding, size, window, strides, dilation, ceil_mode)
    ends = tuple((low, high, 0) for low, high in pairs)
    y = lax.pad(y, fill, around * before + ends + around * after)
    for axis, w, s, d in zip(
        range(before, before + spatial_dims), window, strides, dilation, strict=True
    ):
        count = y.shape[axis] - (w - 1) * d
        # A size that is a symbol cannot be compared: it is one that has windows.
        if isinstance(count, int) and count <= 0:
            y = lax.slice_in_dim(y, 0, 0, 1, axis)
            continue
        parts = [lax.slice_in_dim(y, i * d, i * d + count, s, axis) for i in range(w)]
        while len(parts) > 1:
            odd = parts[len(parts) - len(parts) % 2 :]
            parts = [
                reduction(left, right)
                for left, right in zip(parts[::2], parts[1::2], strict=False)
            ] + odd
        y = parts[0]
    return y
