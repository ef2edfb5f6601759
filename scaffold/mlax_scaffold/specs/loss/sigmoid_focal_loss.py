import jax

from mlax_scaffold.spec import Float, NonNegative, Probability, function
from mlax_scaffold.specs.loss.sigmoid_binary_cross_entropy import (
    sigmoid_binary_cross_entropy,
)


@function(smooth_at={"labels": (0.1, 0.9)})
def sigmoid_focal_loss(
    logits: Float["*shape"],
    labels: Float["*shape"],
    *,
    alpha: Probability
    | None = None,  #: weight of class 1, the other's is 1 - alpha; None: 1
    gamma: NonNegative = 2.0,  #: how much less elements count that are predicted well
) -> Float["*shape"]:
    """Binary cross-entropy in which what is predicted well counts less.

    (1 - p)^gamma times the cross-entropy, where p is the probability of the label.
    Lin et al., 2017, arXiv:1708.02002.
    """
    wrong = labels * jax.nn.sigmoid(-logits) + (1.0 - labels) * jax.nn.sigmoid(logits)
    loss = wrong**gamma * sigmoid_binary_cross_entropy(logits, labels)
    if alpha is None:
        return loss
    return (alpha * labels + (1.0 - alpha) * (1.0 - labels)) * loss
