from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    NonNegative,
    function,
    moments,
    unbiasing,
)


@function
def var(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes of the variance; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    correction: NonNegative = 0.0,  #: divides by n - correction; 1: unbiased
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Variance in two passes, in the dtype of x, which jnp.var widens.

    It is the mean of the squared deviations from the mean, of the n elements that `where`
    selects; with a correction their sum is divided by n - correction.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    y = moments(wide, where, axis=axis, keepdims=keepdims)[1]
    if correction > 0.0:
        y = y * unbiasing(
            wide, where, axis=axis, keepdims=keepdims, correction=correction
        )
    return y.astype(x.dtype)
