from mlax_scaffold.spec import (
    Axis,
    AxisName,
    Bool,
    DType,
    Float,
    Positive,
    deviations,
    function,
    scaled_scores,
)


@function
def standardize(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes that are normalized together; None: all
    epsilon: Positive = 1e-5,  #: added to the variance
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """(x - mean(x)) / sqrt(var(x) + epsilon), in the dtype of x.

    Mean and variance are of what `where` selects; all elements are normalized by them.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    _, deviation, _, scale = deviations(
        wide, where, axis=axis, axis_name=axis_name, epsilon=epsilon
    )
    y = scaled_scores(
        deviation, scale, where, axis=axis, epsilon=epsilon, axis_name=axis_name
    )
    return y.astype(x.dtype)
