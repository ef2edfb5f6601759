from mlax_scaffold.spec import Axis, DType, Float, function, moments


@function
def var(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes of the variance; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Variance (biased) in two passes, in the dtype of x, which jnp.var widens."""
    return moments(x, axis=axis, keepdims=keepdims, accum_dtype=accum_dtype)[1]
