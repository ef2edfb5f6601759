from mlax_scaffold.spec import Axis, DType, Float, Positive, function, standardize


@function
def layer_norm(
    x: Float["..."],
    *,
    axis: Axis = -1,  #: axes that are normalized together
    epsilon: Positive = 1e-5,  #: added to the variance
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """(x - mean(x)) / sqrt(var(x) + epsilon) over the last axis, or over several.

    Ba et al., 2016, arXiv:1607.06450, without the affine map.
    """
    return standardize(x, axis=axis, epsilon=epsilon, accum_dtype=accum_dtype)
