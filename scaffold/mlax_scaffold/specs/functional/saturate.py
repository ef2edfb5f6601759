import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, function


@function
def saturate(x: Float["..."]) -> Float["..."]:
    """The nearest finite number: infinities become the largest numbers of the dtype.

    An average that once is infinite would be inf - inf, which is NaN, in the next step:
    the square of 256 is infinite in float16. NaN stays NaN.
    """
    largest = jnp.finfo(x.dtype).max
    return lax.clamp(-largest, x, largest)
