import math

import jax.numpy as jnp

from mlax_scaffold.spec import Float, function


@function
def log1mexp(positive: Float["*shape"]) -> Float["*shape"]:
    """log(1 - exp(-x)) of x > 0, in the dtype of x, which jax.nn.log1mexp widens.

    As log(-expm1(-x)) up to log 2, and as log1p(-exp(-x)) beyond: each is exact to
    rounding on its side (Maechler, 2012, Accurately computing log(1 - exp(-|a|))).
    At 0 it is -inf, below NaN.
    """
    x = positive
    small = x < math.log(2.0)
    # Each side sees a stand-in where the other holds, so that its gradient is finite.
    near = jnp.log(-jnp.expm1(-jnp.where(small, x, 0.5)))
    far = jnp.log1p(-jnp.exp(-jnp.where(small, 1.0, x)))
    return jnp.where(small, near, far)
