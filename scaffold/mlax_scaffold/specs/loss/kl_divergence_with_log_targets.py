import jax.numpy as jnp

from mlax_scaffold.spec import Float, function, sum


@function
def kl_divergence_with_log_targets(
    log_predictions: Float["*batch classes"],
    log_targets: Float["*batch classes"],
) -> Float["*batch"]:
    """Divergence as `kl_divergence`, of the logarithms of targets.

    sum(exp(log_targets) (log_targets - log_predictions)). A target of -inf counts
    nothing.
    """
    absent = log_targets == -jnp.inf
    ratios = log_targets - log_predictions
    ratios = jnp.where(absent, 0.0, ratios)
    return sum(jnp.exp(log_targets) * ratios, axis=-1)
