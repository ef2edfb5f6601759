from mlax_scaffold.spec import DType, Padding, PerDim, Real, Size, cast, function, pool


@function
def sum_pool(
    x: Real["*batch *spatial channels if channel_last else *batch *spatial"],
    *,
    spatial_dims: Size,  #: number of spatial axes
    window: PerDim[Size],  #: size of the window
    strides: PerDim[Size] = 1,  #: steps from window to window
    padding: Padding = "VALID",  #: of the input, with zeros
    dilation: PerDim[Size] = 1,  #: steps from element to element of the window
    ceil_mode: bool = False,  #: whether a last window may end beyond the padding
    channel_last: bool = False,  #: whether an axis of channels follows the spatial axes
    accum_dtype: DType | None = None,  #: dtype of floating sums; None: that of x
    input_dilation: PerDim[Size] = 1,  #: steps between elements of the input
) -> Real["*batch *out_spatial channels if channel_last else *batch *out_spatial"]:
    """Sum of each window of the spatial axes, see `pool`."""
    y = pool(
        cast(x, accum_dtype),
        reduction="sum",
        spatial_dims=spatial_dims,
        window=window,
        strides=strides,
        padding=padding,
        dilation=dilation,
        ceil_mode=ceil_mode,
        channel_last=channel_last,
        input_dilation=input_dilation,
    )
    return cast(y, x.dtype)
