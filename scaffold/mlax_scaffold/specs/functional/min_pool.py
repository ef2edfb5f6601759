from mlax_scaffold.spec import Padding, PerDim, Real, Size, function, pool


@function
def min_pool(
    x: Real["*batch *spatial channels if channel_last else *batch *spatial"],
    *,
    spatial_dims: Size,  #: number of spatial axes
    window: PerDim[Size],  #: size of the window
    strides: PerDim[Size] = 1,  #: steps from window to window
    padding: Padding = "VALID",  #: of the input, with inf or the largest integer
    dilation: PerDim[Size] = 1,  #: steps from element to element of the window
    ceil_mode: bool = False,  #: whether a last window may end beyond the padding
    channel_last: bool = False,  #: whether an axis of channels follows the spatial axes
    input_dilation: PerDim[Size] = 1,  #: steps between elements of the input
) -> Real["*batch *out_spatial channels if channel_last else *batch *out_spatial"]:
    """Smallest element of each window of the spatial axes, see `pool`."""
    return pool(
        x,
        reduction="min",
        spatial_dims=spatial_dims,
        window=window,
        strides=strides,
        padding=padding,
        dilation=dilation,
        ceil_mode=ceil_mode,
        channel_last=channel_last,
        input_dilation=input_dilation,
    )
