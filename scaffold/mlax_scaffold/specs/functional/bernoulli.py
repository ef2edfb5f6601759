import math

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Key, Probability, Shape, function


@function
def bernoulli(
    key: Key,
    *,
    shape: Shape,  #: of the result
    p: Probability,  #: probability of True
) -> Bool["..."]:
    """Draws booleans that are True with probability p, without a float.

    The very mask of `jax.random.bernoulli(key, p, shape)` in float32, which compares
    k / 2^23 with p, where k is the upper 23 of 32 random bits: here k < p * 2^23.
    """
    bits = jax.random.bits(key, shape, jnp.uint32) >> 9
    single = float(jnp.dtype(jnp.float32).type(p))
    return bits < math.ceil(single * 2**23)
