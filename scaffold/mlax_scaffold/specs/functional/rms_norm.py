from mlax_scaffold.spec import (
    Axis,
    AxisName,
    Bool,
    DType,
    Float,
    Positive,
    function,
    range_scale,
    scaled_scores,
)


@function
def rms_norm(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis = -1,  #: axes that are normalized together
    epsilon: Positive = 1e-6,  #: added to the mean square
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Divides by the root mean square: x / sqrt(mean(x^2) + epsilon).

    Zhang & Sennrich, 2019, arXiv:1910.07467, without the gain. The mean is of what `where`
    selects.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    scale = range_scale(
        wide, axis=axis, axis_name=axis_name, at_least=0.5 * epsilon**0.5
    )
    y = scaled_scores(
        wide / scale, scale, where, axis=axis, epsilon=epsilon, axis_name=axis_name
    )
    return y.astype(x.dtype)
