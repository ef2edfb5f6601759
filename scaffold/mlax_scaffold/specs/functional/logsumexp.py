import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    doublings,
    function,
    sum,
)


@function
def logsumexp(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes of the sum; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """log(sum(exp(x))), in the dtype of x, which jax.nn.logsumexp widens.

    Elements that `where` leaves out count as -inf.
    Where everything is -inf the result is -inf and its gradient zero, and not NaN.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    if where is not None:
        wide = jnp.where(where, wide, -jnp.inf)
    fixed = lax.stop_gradient(wide)
    top = jnp.max(fixed, axis=axis, keepdims=True, initial=-jnp.inf)
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    axes = tuple(range(x.ndim)) if axis is None else axis
    share = 1.0
    if jnp.finfo(wide.dtype).maxexp <= 16:
        # As many ones have no sum in float16.
        size = max(math.prod(x.shape[a] for a in axes), 1)
        share = 2.0 ** min(0, 15 - doublings(size))
    total = sum(jnp.exp(wide - top), axis=axis, keepdims=True, factor=share)
    # The logarithm of a stand-in keeps the gradient of an empty sum from dividing by 0.
    empty = total == 0.0
    log = jnp.log(jnp.where(empty, 1.0, total))
    log = (log if share == 1.0 else log - math.log(share)) + top
    log = jnp.where(empty, -jnp.inf, log)
    if not keepdims:
        log = lax.squeeze(log, axes)
    return log.astype(x.dtype)
