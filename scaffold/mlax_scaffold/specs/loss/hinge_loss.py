import jax

from mlax_scaffold.spec import Float, function


@function
def hinge_loss(
    predictions: Float["*shape"],
    targets: Float["*shape"],
) -> Float["*shape"]:
    """Hinge loss: max(0, 1 - predictions targets), with targets of -1 or 1.

    Cortes & Vapnik, 1995, Machine Learning 20(3).
    """
    return jax.nn.relu(1.0 - predictions * targets)
