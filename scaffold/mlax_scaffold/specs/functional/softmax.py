import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Axis, DType, Float, function, sum


@function
def softmax(
    x: Float["..."],
    *,
    axis: Axis = -1,  #: axes that sum to one
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """exp(x) / sum(exp(x)), in the dtype of x, which jax.nn.softmax widens.

    -inf gets no weight. Where everything is -inf the result is zero, and so is the
    gradient, in the place of NaN.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    fixed = lax.stop_gradient(wide)
    top = jnp.max(fixed, axis=axis, keepdims=True, initial=-jnp.inf)
    weights = jnp.exp(wide - jnp.where(top == -jnp.inf, jnp.zeros_like(top), top))
    total = sum(weights, axis=axis, keepdims=True)
    total = jnp.where(total == 0.0, jnp.ones_like(total), total)
    return (weights / total).astype(x.dtype)
