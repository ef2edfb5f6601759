import jax.numpy as jnp

from mlax_scaffold.spec import Axis, DType, Float, function, logsumexp


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
    total = logsumexp(wide, axis=axis, keepdims=True)
    total = jnp.where(total == -jnp.inf, jnp.zeros_like(total), total)
    return (wide - total).astype(x.dtype)
