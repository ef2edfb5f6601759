import math

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    doublings,
    function,
    logsumexp,
    spread,
    spread_mean,
    sum,
)


@function
def log_softmax(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis = -1,  #: axes whose exponentials sum to one
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Logarithm of softmax, in the dtype of x, which jax.nn.log_softmax widens.

    x - log(sum(exp(x))), and -inf for what `where` leaves out. Where everything is -inf
    the result is -inf, with a finite gradient, and not NaN.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    if where is not None:
        wide = jnp.where(where, wide, -jnp.inf)

    def plain(x):
        total = logsumexp(x, axis=axis, keepdims=True)
        total = jnp.where(total == -jnp.inf, 0.0, total)
        return x - spread(total, x.shape)

    if jnp.finfo(wide.dtype).bits > 16:
        return plain(wide).astype(x.dtype)
    # The rounding of a large sum would be in every element.
    top = jnp.max(lax.stop_gradient(wide), axis=axis, keepdims=True, initial=-jnp.inf)
    wide = wide - jnp.where(jnp.isfinite(top), top, 0.0)
    size = max(math.prod(x.shape[a] for a in axis), 1)
    half = 2.0 ** (doublings(size) // 2)
    logarithm = jax.custom_jvp(plain)

    @logarithm.defjvp
    def tangent(primals, tangents):
        # Of all cotangents there may be no sum in float16, but there is their mean.
        weights = jnp.exp(primals[0])
        total = sum(weights, axis=axis, keepdims=True, factor=1.0 / half)
        total = total + (total == 0.0).astype(total.dtype)
        more = (size / half) ** 0.5
        more = more if isinstance(size, int) else jnp.asarray(more, total.dtype)
        few = lax.rsqrt(total) * more
        root = lax.sqrt(few)
        weights = weights * spread(few * root, weights.shape)
        mean = spread_mean(weights * tangents[0], axis)
        return logarithm(*primals), tangents[0] - mean * spread(root, mean.shape)

    return logarithm(wide).astype(x.dtype)
