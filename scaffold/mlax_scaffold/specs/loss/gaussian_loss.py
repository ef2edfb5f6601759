import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, function


@function
def gaussian_loss(
    means: Float["*shape"],
    log_scales: Float["*shape"],
    targets: Float["*shape"],
) -> Float["*shape"]:
    """Negative log likelihood of normal distributions, of each element.

    ((targets - means) / s)^2 / 2 + log(s) + log(2 pi) / 2, with s = exp(log_scales).
    """
    error = (targets - means) * jnp.exp(-log_scales)
    return 0.5 * lax.square(error) + log_scales + 0.5 * math.log(2.0 * math.pi)
