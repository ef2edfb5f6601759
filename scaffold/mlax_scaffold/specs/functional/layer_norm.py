from mlax_scaffold.spec import (
    Axis,
    AxisName,
    Bool,
    DType,
    Float,
    Positive,
    function,
    standardize,
)


@function
def layer_norm(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis = -1,  #: axes that are normalized together
    epsilon: Positive = 1e-5,  #: added to the variance
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """(x - mean(x)) / sqrt(var(x) + epsilon) over the last axis, or over several.

    Ba et al., 2016, arXiv:1607.06450, without the affine map. Mean and variance are of
    what `where` selects.
    """
    return standardize(
        x,
        where,
        axis=axis,
        epsilon=epsilon,
        axis_name=axis_name,
        accum_dtype=accum_dtype,
    )
