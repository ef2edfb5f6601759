import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, function, mean, range_scale


@function
def rms(x: Float["..."]) -> Float[""]:
    """Root mean square of all elements: sqrt(mean(x^2)), in the dtype of x.

    It is finite where squares are not, as those above 256 in float16, and 0 of nothing.
    Its gradient at zeros is zero.
    """
    scale = range_scale(x)
    square = mean(lax.square(x / scale), keepdims=True)
    # The root of zero has no derivative, and NaN would come of it.
    positive = square > 0.0
    root = jnp.where(positive, lax.sqrt(jnp.where(positive, square, 1.0)), square)
    return lax.squeeze(scale * root, range(x.ndim))
