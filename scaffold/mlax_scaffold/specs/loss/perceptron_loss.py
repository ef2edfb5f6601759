import jax

from mlax_scaffold.spec import Float, function


@function
def perceptron_loss(
    predictions: Float["*shape"],
    targets: Float["*shape"],
) -> Float["*shape"]:
    """Loss of the perceptron: max(0, -predictions targets), with targets of -1 or 1.

    Rosenblatt, 1958, Psychological Review 65(6).
    """
    return jax.nn.relu(-predictions * targets)
