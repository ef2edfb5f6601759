import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Bool, Float, function


@function
def reset_carry(
    reset: Bool["*batch"], carry: Float["*batch *features"]
) -> Float["*batch *features"]:
    """Zeros in the place of a carry where a sequence begins anew."""
    begins = lax.expand_dims(reset, range(reset.ndim, carry.ndim))
    return jnp.where(begins, 0, carry)
