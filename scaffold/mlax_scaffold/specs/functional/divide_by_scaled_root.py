import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Positive, function, spread


@function
def divide_by_scaled_root(
    x: Float["..."],
    var: Float["..."],
    scale: Float["..."],
    *,
    epsilon: Positive = 1e-5,  #: added to the mean square, not scaled
) -> Float["..."]:
    """(s x) / sqrt(s^2 v + epsilon), for a scale s as of `deviations`.

    As x / sqrt(v + epsilon / s^2), which overflows neither itself nor in its gradient.
    """
    least = float(jnp.finfo(x.dtype).smallest_subnormal)
    root = lax.rsqrt(var + max(epsilon, least) / scale / scale)
    return x * spread(root, x.shape)
