import math

from mlax_scaffold.spec import Axis, DType, Float, function, sum


@function
def mean(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes that are averaged; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Mean over axes, in the dtype of x, which jnp.mean widens where it has 16 bits."""
    size = x.size if axis is None else math.prod(x.shape[a] for a in axis)
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    return (sum(wide, axis=axis, keepdims=keepdims) / size).astype(x.dtype)
