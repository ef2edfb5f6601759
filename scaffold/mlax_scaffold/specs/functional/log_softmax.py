import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Axis, DType, Float, function, logsumexp, spread


@function
def log_softmax(
    x: Float["..."],
    *,
    axis: Axis = -1,  #: axes whose exponentials sum to one
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Logarithm of softmax, in the dtype of x, which jax.nn.log_softmax widens.

    x - log(sum(exp(x))). Where everything is -inf the result is -inf, with a finite
    gradient, and not NaN.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    if jnp.finfo(wide.dtype).bits <= 16:
        # The rounding of a large sum would be in every element.
        top = jnp.max(
            lax.stop_gradient(wide), axis=axis, keepdims=True, initial=-jnp.inf
        )
        wide = wide - jnp.where(jnp.isfinite(top), top, jnp.zeros_like(top))
    total = logsumexp(wide, axis=axis, keepdims=True)
    total = jnp.where(total == -jnp.inf, jnp.zeros_like(total), total)
    return (wide - spread(total, wide.shape)).astype(x.dtype)
