import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Decay, Float, NonNegative, function


@function
def rectification(
    step: Float[""],
    *,
    decay: Decay,  #: decay of the moving average of squares
    threshold: NonNegative = 5.0,  #: least rho, above 4, with which it is defined
) -> Float[""]:
    """Factor of RAdam for the variance of a moving average of squares; 0: none yet.

    rho = rho_inf - 2 t decay^t / (1 - decay^t), with rho_inf = 2 / (1 - decay) - 1;
    sqrt((rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho))

    rho is computed as t + f(h) - t f(t h), with h = -log(decay) / 2 and
    f(x) = coth(x) - 1 / x: the terms above are large, and their difference small.
    Liu et al., 2020, arXiv:1908.03265.
    """
    limit = 2.0 / (1.0 - decay) - 1.0
    if limit <= 4.0:
        return jnp.zeros_like(step)

    def excess(x):
        square = x * x
        inner = 1.0 / 4725.0 - square * (2.0 / 93555.0)
        series = 1.0 / 3.0 - square * (
            1.0 / 45.0 - square * (2.0 / 945.0 - square * inner)
        )
        large = jnp.maximum(x, 0.2)
        return jnp.where(x < 0.2, x * series, 1.0 / jnp.tanh(large) - 1.0 / large)

    # From here on nothing changes in float64, and in float32 the terms cancel.
    step = jnp.minimum(step, -40.0 / math.log(decay))
    half = jnp.full_like(step, -0.5 * math.log(decay))
    rho = step + excess(half) - step * excess(step * half)
    defined = (rho >= threshold) & (rho > 4.0)
    safe = jnp.where(defined, rho, 5.0)
    scale = limit / ((limit - 4.0) * (limit - 2.0))
    return jnp.where(defined, lax.sqrt((safe - 4.0) * (safe - 2.0) * scale / safe), 0.0)
