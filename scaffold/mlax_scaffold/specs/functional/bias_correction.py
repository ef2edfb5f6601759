import math

import jax.numpy as jnp

from mlax_scaffold.spec import Float, Probability, function


@function
def bias_correction(
    step: Float[""],
    *,
    decay: Probability,  #: decay of the moving average
) -> Float[""]:
    """1 - decay^step: the weight that a moving average from zero has collected.

    As -expm1(step * log(decay)), which is exact to rounding where decay^step is near 1.
    Kingma & Ba, 2015, arXiv:1412.6980, section 3.
    """
    if (decay == 0.0) is True:
        return jnp.ones_like(step)
    log = math.log(decay) if isinstance(decay, float) else jnp.log(decay)
    return -jnp.expm1(step * log)
