import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, NonNegative, function, saturate


@function
def divide_by_root(
    x: Float["..."],
    var: Float["..."],
    *,
    epsilon: NonNegative,  #: added to the root
    epsilon_root: NonNegative = 0.0,  #: added under the root
) -> Float["..."]:
    """Division by a root, as in Adam: x / (sqrt(var + epsilon_root) + epsilon).

    `epsilon` is at least the smallest normal number of the dtype, so that what is zero
    in half precision is not divided by; infinities count as the largest number.
    Kingma & Ba, 2015, arXiv:1412.6980.
    """
    x, var = saturate(x), saturate(var)
    least = float(jnp.finfo(x.dtype).tiny)
    added = jnp.maximum(epsilon, least)
    if isinstance(epsilon, float):
        added = max(epsilon, least)
    return x / (lax.sqrt(var + epsilon_root) + added)
