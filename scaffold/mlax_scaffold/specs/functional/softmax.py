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
    range_scale,
    spread,
    sum,
)


@function
def softmax(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis = -1,  #: axes that sum to one
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """exp(x) / sum(exp(x)), in the dtype of x, which jax.nn.softmax widens.

    -inf gets no weight, nor what `where` leaves out. Where everything is -inf the result
    is zero, and so is the gradient, in the place of NaN.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    if where is not None:
        wide = jnp.where(where, wide, -jnp.inf)
    fixed = lax.stop_gradient(wide)
    lowest = float(jnp.finfo(wide.dtype).min)
    top = jnp.max(fixed, axis=axis, keepdims=True, initial=lowest)
    weights = jnp.exp(wide - top)
    share = 1.0
    if jnp.finfo(wide.dtype).maxexp <= 16:
        # As many ones have no sum in float16.
        size = max(math.prod(x.shape[a] for a in axis), 1)
        share = 2.0 ** min(0, 15 - doublings(size))
    total = sum(weights, axis=axis, keepdims=True, factor=share)
    # It is zero where everything is -inf.
    total = total + (total == 0.0).astype(total.dtype)
    if jnp.finfo(wide.dtype).maxexp > 16:
        return (weights / spread(total, weights.shape)).astype(x.dtype)
    # In the gradient the sum is squared: it must be near one.
    scale = range_scale(total, axis=())
    y = weights / spread(total / scale, weights.shape)
    return (y * (share / scale)).astype(x.dtype)
