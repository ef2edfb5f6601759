import math

from mlax_scaffold.spec import Axis, DType, Float, function, logsumexp


@function
def logmeanexp(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes of the mean; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """log(mean(exp(x))), in the dtype of x, which jax.nn.logmeanexp widens."""
    size = x.size if axis is None else math.prod(x.shape[a] for a in axis)
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    total = logsumexp(wide, axis=axis, keepdims=keepdims)
    return (total - math.log(max(size, 1))).astype(x.dtype)
