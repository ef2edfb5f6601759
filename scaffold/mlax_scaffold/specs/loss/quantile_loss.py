import jax.numpy as jnp

from mlax_scaffold.spec import Float, Probability, function


@function
def quantile_loss(
    predictions: Float["*shape"],
    targets: Float["*shape"],
    *,
    quantile: Probability = 0.5,  #: share of the targets below what is predicted
) -> Float["*shape"]:
    """Pinball loss, whose best prediction is a quantile of the targets.

    max(q e, (q - 1) e) with e = targets - predictions. Koenker & Bassett, 1978,
    Econometrica 46(1).
    """
    error = targets - predictions
    return jnp.maximum(quantile * error, (quantile - 1.0) * error)
