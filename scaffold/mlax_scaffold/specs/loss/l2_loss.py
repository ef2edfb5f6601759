from jax import lax

from mlax_scaffold.spec import Float, function


@function
def l2_loss(
    predictions: Float["*shape"],
    targets: Float["*shape"],
) -> Float["*shape"]:
    """Half of the squared error: (predictions - targets)^2 / 2, of each element.

    Its derivative is the error itself. Bishop, 2006, Pattern Recognition and Machine
    Learning, eq. 3.12.
    """
    return 0.5 * lax.square(predictions - targets)
