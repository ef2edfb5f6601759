import jax.numpy as jnp

from mlax_scaffold.spec import Float, function


@function
def poisson_loss(
    log_rates: Float["*shape"],
    counts: Float["*shape"],
) -> Float["*shape"]:
    """Negative log likelihood of counts: exp(log_rates) - counts log_rates.

    Without log(counts!), on which no prediction depends.
    """
    return jnp.exp(log_rates) - counts * log_rates
