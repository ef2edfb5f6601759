import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Float,
    Padding,
    PerDim,
    Size,
    cast,
    explicit_padding,
    function,
    pool,
)


@function
def avg_pool(
    x: Float["*batch *spatial channels if channel_last else *batch *spatial"],
    *,
    spatial_dims: Size,  #: number of spatial axes
    window: PerDim[Size],  #: size of the window
    strides: PerDim[Size] = 1,  #: steps from window to window
    padding: Padding = "VALID",  #: of the input, with zeros
    dilation: PerDim[Size] = 1,  #: steps from element to element of the window
    ceil_mode: bool = False,  #: whether a last window may end beyond the padding
    channel_last: bool = False,  #: whether an axis of channels follows the spatial axes
    count_include_pad: bool = True,  #: whether padding counts as elements
    accum_dtype: DType | None = None,  #: dtype of the sum; None: that of x
    input_dilation: PerDim[Size] = 1,  #: steps between elements of the input
) -> Float["*batch *out_spatial channels if channel_last else *batch *out_spatial"]:
    """Mean of each window of the spatial axes, see `pool`.

    With `count_include_pad`, what `ceil_mode` adds counts too, as in equinox.
    """
    y = pool(
        cast(x, accum_dtype),
        reduction="avg",
        spatial_dims=spatial_dims,
        window=window,
        strides=strides,
        padding=padding,
        dilation=dilation,
        ceil_mode=ceil_mode,
        channel_last=channel_last,
        input_dilation=input_dilation,
    )
    if not count_include_pad:
        after = 1 if channel_last else 0
        before = x.ndim - spatial_dims - after
        # Integers: 16 bits of floating point do not count far.
        ones = lax.pad(
            jnp.ones(x.shape[before : x.ndim - after], jnp.int32),
            jnp.int32(0),
            [(0, 0, e - 1) for e in input_dilation],
        )
        size = ones.shape
        elements = lax.reduce_window(
            ones,
            0,
            lax.add,
            window,
            strides,
            explicit_padding(padding, size, window, strides, dilation, ceil_mode),
            window_dilation=dilation,
        )
        share = math.prod(window) / elements.astype(y.dtype)
        y = y * share.reshape(*share.shape, *(1,) * after)
    return cast(y, x.dtype)
