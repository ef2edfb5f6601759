import jax

from mlax_scaffold.spec import Float, NonNegative, Positive, function
from mlax_scaffold.specs.loss.dice_loss import dice_loss


@function(smooth_at={"targets": (0.1, 0.9)})
def binary_dice_loss(
    logits: Float["batch *spatial"],
    targets: Float["batch *spatial"],
    *,
    alpha: NonNegative = 0.5,  #: weight of what is predicted and not there
    beta: NonNegative = 0.5,  #: weight of what is there and not predicted
    smooth: Positive = 1.0,  #: added to both sides of the quotient
) -> Float["batch"]:
    """How little a region overlaps with the one that is predicted: see `dice_loss`.

    Probabilities are the sigmoid of the logits, targets 0 or 1 in each position.
    """
    losses = dice_loss(
        jax.nn.sigmoid(logits)[..., None],
        targets[..., None],
        alpha=alpha,
        beta=beta,
        smooth=smooth,
    )
    return losses[..., 0]
