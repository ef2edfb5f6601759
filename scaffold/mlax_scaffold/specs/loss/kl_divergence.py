import jax.numpy as jnp

from mlax_scaffold.spec import Float, function, sum


@function(smooth_at={"targets": (0.1, 0.9)})
def kl_divergence(
    log_predictions: Float["*batch classes"],
    targets: Float["*batch classes"],
) -> Float["*batch"]:
    """Divergence of predictions from targets, which sum to one.

    sum(targets (log(targets) - log_predictions)). A target of zero counts nothing.
    Kullback & Leibler, 1951, Annals of Mathematical Statistics 22(1).
    """
    absent = targets == 0.0
    logs = jnp.log(jnp.where(absent, 1.0, targets))
    ratios = jnp.where(absent, 0.0, logs - log_predictions)
    return sum(targets * ratios, axis=-1)
