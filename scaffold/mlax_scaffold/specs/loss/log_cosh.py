import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, function


@function
def log_cosh(
    predictions: Float["*shape"],
    targets: Float["*shape"],
) -> Float["*shape"]:
    """Logarithm of the hyperbolic cosine of the error.

    log(cosh(predictions - targets)). About half of the squared error where that is
    small, and |error| - log(2) elsewhere.

    As log(1 + 2 sinh(error / 2)^2) where the error is small, and without an
    exponential that overflows elsewhere.
    """
    error = jnp.abs(predictions - targets)
    near = jnp.minimum(error, 1.0)
    small = jnp.log1p(2.0 * lax.square(jnp.sinh(0.5 * near)))
    far = jnp.maximum(error, 1.0)
    large = far + jnp.log1p(jnp.exp(-2.0 * far)) - math.log(2.0)
    return jnp.where(error < 1.0, small, large)
