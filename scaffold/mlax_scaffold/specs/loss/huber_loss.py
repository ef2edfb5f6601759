import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Positive, function


@function
def huber_loss(
    predictions: Float["*shape"],
    targets: Float["*shape"],
    *,
    delta: Positive = 1.0,  #: error from which it is linear
) -> Float["*shape"]:
    """Half of the squared error where that is small, linear in the error elsewhere.

    e^2 / 2 for errors e of at most delta, delta (|e| - delta / 2) for others. Huber,
    1964, Annals of Mathematical Statistics 35(1).
    """
    error = jnp.abs(predictions - targets)
    near = jnp.minimum(error, delta)
    return 0.5 * lax.square(near) + delta * (error - near)
