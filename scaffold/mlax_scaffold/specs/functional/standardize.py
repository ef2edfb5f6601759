from mlax_scaffold.spec import (
    Axis,
    DType,
    Float,
    Positive,
    function,
    moments,
    normalize,
)


@function
def standardize(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes that are normalized together; None: all
    epsilon: Positive = 1e-5,  #: added to the variance
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """(x - mean(x)) / sqrt(var(x) + epsilon), in the dtype of x."""
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    mean, var = moments(wide, axis=axis, keepdims=True)
    return normalize(wide, mean, var, epsilon=epsilon).astype(x.dtype)
