from jax import lax

from mlax_scaffold.spec import Float, function


@function
def squared_error(
    predictions: Float["*shape"],
    targets: Float["*shape"],
) -> Float["*shape"]:
    """Squared error: (predictions - targets)^2, of each element."""
    return lax.square(predictions - targets)
