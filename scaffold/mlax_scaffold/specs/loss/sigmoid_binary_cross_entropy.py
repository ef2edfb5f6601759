import jax

from mlax_scaffold.spec import Float, function


@function
def sigmoid_binary_cross_entropy(
    logits: Float["*shape"],
    labels: Float["*shape"],
) -> Float["*shape"]:
    """Cross-entropy of independent binary classes, of each element.

    -labels log(p) - (1 - labels) log(1 - p) with p = sigmoid(logits); labels are from
    0 to 1. No logarithm is of a difference, so that it is as exact for large logits.
    """
    return labels * jax.nn.softplus(-logits) + (1.0 - labels) * jax.nn.softplus(logits)
