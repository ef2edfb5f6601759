from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    Positive,
    function,
    standardize,
)


@function
def z_norm(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis = -1,  #: axes that are normalized together
    epsilon: Positive = 1e-5,  #: added to the variance
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Standard score: (x - mean(x)) / sqrt(var(x) + epsilon), in the dtype of x.

    Mean and variance are of what `where` selects.
    """
    return standardize(x, where, axis=axis, epsilon=epsilon, accum_dtype=accum_dtype)
