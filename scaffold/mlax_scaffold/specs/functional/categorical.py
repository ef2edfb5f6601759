import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float,
    Int,
    Key,
    NonNegative,
    function,
    require,
    softmax,
)


@function
def categorical(
    logits: Float["*batch classes"],
    key: Key,
    *,
    temperature: NonNegative = 1.0,  #: by which logits are divided; 0: the largest is taken
) -> Int["*batch"]:
    """Draws classes with the probabilities softmax(logits / temperature).

    Each probability counts in units of 2^-24, in all dtypes: Gumbel noise, with which
    `jax.random.categorical` draws, has 8 bits in bfloat16. The key may be None where the
    temperature is 0.
    """
    if temperature == 0.0:
        return jnp.argmax(logits, axis=-1)
    require(key is not None, "a key is needed, unless the temperature is 0")
    top = jnp.max(logits, axis=-1, keepdims=True)
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    # A temperature below the numbers of the dtype would be 0 there, and 0 / 0 no number.
    divisor = max(temperature, float(jnp.finfo(logits.dtype).tiny))
    shares = softmax((logits - top) / divisor) * 2.0**12
    # To integers without a wider float: 12 bits, and the 12 below them.
    upper = jnp.floor(shares)
    lower = jnp.floor((shares - upper) * 2.0**12)
    units = (upper.astype(jnp.uint32) << 12) + lower.astype(jnp.uint32)
    sums = jnp.cumsum(units, axis=-1, dtype=jnp.uint32)
    total = sums[..., -1:]
    drawn = jax.random.randint(key, total.shape, 0, total, jnp.uint32)
    return jnp.argmax(sums > drawn, axis=-1)
