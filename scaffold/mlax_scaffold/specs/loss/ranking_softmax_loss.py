import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, function, log_softmax, sum


@function
def ranking_softmax_loss(
    scores: Float["*batch items"],
    relevances: Float["*batch items"],
    where: Bool["*batch items"] | None = None,
    weights: Float["*batch items"] | None = None,
) -> Float["*batch"]:
    """Loss of a list of items by how relevant each is: -sum(y log_softmax(s)).

    Items that `where` leaves out are not in the list; weights multiply the relevances.
    ListNet, Cao et al., 2007, doi:10.1145/1273496.1273513.
    """
    labels = relevances if weights is None else relevances * weights
    if where is not None:
        labels = jnp.where(where, labels, 0)
    logs = log_softmax(scores, where)
    # What is impossible and not relevant counts nothing.
    nothing = (labels == 0.0) & (logs == -jnp.inf)
    logs = jnp.where(nothing, 0, logs)
    return -sum(labels * logs, axis=-1)
