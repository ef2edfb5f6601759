from mlax_scaffold.spec import (
    AxisName,
    Bool,
    DType,
    Float,
    Positive,
    function,
    standardize,
)


@function
def instance_norm(
    x: Float["batch *spatial channels if channel_last else batch channels *spatial"],
    where: Bool[
        "# batch *spatial channels if channel_last else # batch channels *spatial"
    ]
    | None = None,
    *,
    channel_last: bool = False,  #: whether channels are the last axis, else the second
    epsilon: Positive = 1e-5,  #: added to the variance
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["batch *spatial channels if channel_last else batch channels *spatial"]:
    """Normalizes each channel of each example over the spatial axes.

    x is (batch, channels, *spatial), or (batch, *spatial, channels).
    Ulyanov et al., 2016, arXiv:1607.08022, without the affine map. Mean and variance are of
    what `where` selects.
    """
    spatial = tuple(range(1, x.ndim - 1) if channel_last else range(2, x.ndim))
    return standardize(
        x,
        where,
        axis=spatial,
        epsilon=epsilon,
        axis_name=axis_name,
        accum_dtype=accum_dtype,
    )
