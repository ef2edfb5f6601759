from mlax_scaffold.spec import Float, Padding, PerDim, Size, function, pool


@function
def sum_pool(
    x: Float["..."],
    *,
    spatial_dims: Size,  #: number of spatial axes
    window: PerDim[Size],  #: size of the window
    strides: PerDim[Size] = 1,  #: steps from window to window
    padding: Padding = "VALID",  #: of the input, with zeros
    channel_last: bool = False,  #: whether an axis of channels follows the spatial axes
) -> Float["..."]:
    """Sum of each window of the spatial axes, see `pool`."""
    return pool(
        x,
        reduction="sum",
        spatial_dims=spatial_dims,
        window=window,
        strides=strides,
        padding=padding,
        channel_last=channel_last,
    )
