import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Float,
    NonNegative,
    Positive,
    function,
    mean,
    require,
    softmax,
    spread,
)
from mlax_scaffold.specs.loss.dice_loss import dice_loss


@function(smooth_at={"targets": (0.1, 0.9)})
def multiclass_generalized_dice_loss(
    logits: Float["batch *spatial classes"],
    targets: Float["batch *spatial classes"],
    *,
    smooth: Positive = 1.0,  #: added to both sides of each quotient
    epsilon: NonNegative = 1e-7,  #: added to the square of how often a class occurs
    ignore_background: bool = False,  #: whether class 0 does not count
) -> Float["batch"]:
    """Mean over classes of the losses of `dice_loss`, where rare classes weigh more.

    Probabilities are the softmax of the logits. A weight is 1 / (n^2 + epsilon) of the
    targets n that a class has in the batch, and weights are 1 on average. A class that
    does not occur has nearly all weight. Sudre et al., 2017, arXiv:1707.03237.
    """
    require(logits.shape[-1] > 1, "there must be two classes, or more")
    axes = tuple(range(targets.ndim - 1))
    size = max(math.prod(targets.shape[:-1]), 1)
    # Of shares of all positions, of which no square is out of the range of float16.
    share, least = (
        mean(targets, axis=axes),
        jnp.asarray(epsilon**0.5 / size, targets.dtype),
    )
    large, small = jnp.maximum(share, least), jnp.minimum(share, least)
    large = jnp.maximum(large, jnp.finfo(targets.dtype).tiny)
    root = large * jnp.sqrt(1.0 + lax.square(small / large))
    # The least is a scale that cancels, so that it has no gradient.
    weights = lax.square(jnp.min(lax.stop_gradient(root)) / root)
    weights = weights / spread(mean(weights), weights.shape)
    losses = dice_loss(softmax(logits), targets, smooth=smooth)
    losses = losses * spread(weights, losses.shape)
    return mean(losses[..., 1:] if ignore_background else losses, axis=-1)
