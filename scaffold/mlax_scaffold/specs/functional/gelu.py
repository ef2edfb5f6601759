import math

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, function


@function
def gelu(
    x: Float["*shape"],
    *,
    approximate: bool = True,  #: whether Phi is approximated by a tanh
) -> Float["*shape"]:
    """Gaussian error linear unit: x Phi(x), with the normal distribution function Phi.

    Phi(x) = (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), or
    (1 + erf(x / sqrt(2))) / 2.

    As sigmoid(2 u) and erfc(-x / sqrt(2)) / 2: for negative x the sums cancel. Gradients
    are finite where x^3 is not, unlike those of jax.nn.gelu, which in float16 are NaN
    above 41. Hendrycks & Gimpel, 2016, arXiv:1606.08415.
    """
    # Beyond, Phi is 0 or 1 in every dtype.
    near = jnp.clip(x, -40.0, 40.0)
    if not approximate:
        return x * (0.5 * lax.erfc(-math.sqrt(0.5) * near))
    linear = math.sqrt(8.0 / math.pi)
    return x * jax.nn.sigmoid(near * (linear + (0.044715 * linear) * lax.square(near)))
