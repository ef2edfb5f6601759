import jax.numpy as jnp

from mlax_scaffold.spec import Float, function, sum
from mlax_scaffold.specs.loss.kl_divergence import kl_divergence


@function(smooth_at={"targets": (0.1, 0.9)})
def generalized_kl_divergence(
    log_predictions: Float["*batch classes"],
    targets: Float["*batch classes"],
) -> Float["*batch"]:
    """Divergence that is not negative, also of what does not sum to one.

    kl_divergence + sum(exp(log_predictions) - targets).
    """
    surplus = sum(jnp.exp(log_predictions) - targets, axis=-1)
    return kl_divergence(log_predictions, targets) + surplus
