import jax.numpy as jnp

from mlax_scaffold.spec import Float, function


@function
def absolute_error(
    predictions: Float["*shape"],
    targets: Float["*shape"],
) -> Float["*shape"]:
    """Absolute error: |predictions - targets|, of each element."""
    return jnp.abs(predictions - targets)
