import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, function


@function
def two_sum(
    x: Float["*shape"], y: Float["*shape"]
) -> tuple[Float["*shape"], Float["*shape"]]:
    """The rounded sum of x and y, and exactly what rounding has lost of it.

    Knuth, 1969, The Art of Computer Programming, volume 2. Nothing is lost of a sum that
    is not finite.
    """
    info = jnp.finfo(x.dtype)
    # Compilers may keep more bits of a sum than its dtype has, unless they are told.
    total = lax.reduce_precision(x + y, info.nexp, info.nmant)
    part = total - x
    lost = (x - (total - part)) + (y - part)
    return total, jnp.where(jnp.isfinite(total), lost, 0.0)
