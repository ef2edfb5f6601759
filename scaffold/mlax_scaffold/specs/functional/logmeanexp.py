import math

import jax.numpy as jnp

from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    function,
    logsumexp,
    mean,
)


@function
def logmeanexp(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes of the mean; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """log(mean(exp(x))), in the dtype of x, which jax.nn.logmeanexp widens.

    The mean is of the elements that `where` selects, and -inf where there are none.
    """
    size = x.size if axis is None else math.prod(x.shape[a] for a in axis)
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    total = logsumexp(wide, where, axis=axis, keepdims=keepdims)
    total = total - math.log(max(size, 1))
    if where is not None:
        ones = jnp.broadcast_to(where, x.shape).astype(wide.dtype)
        share = mean(ones, axis=axis, keepdims=keepdims)
        total = total - jnp.log(jnp.where(share == 0.0, 1.0, share))
    return total.astype(x.dtype)
