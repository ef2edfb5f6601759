import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float,
    Int,
    Positive,
    Precision,
    function,
    l2_normalize,
    logsumexp,
    mean,
    spread,
)


@function
def ntxent(
    embeddings: Float["batch features"],
    labels: Int["batch"],
    *,
    temperature: Positive = 0.07,  #: by which similarities are divided
    precision: Precision | None = None,  #: of the products, see jax.lax.Precision
) -> Float[""]:
    """Contrastive loss of a batch, in which examples of one label are to be similar.

    Over all pairs (i, j) of one label, the mean of
    -log(exp(s_ij) / (exp(s_ij) + sum(exp(s_ik)))), where k runs over examples of other
    labels, and s is the cosine of two embeddings, divided by the temperature. Without such
    a pair it is 0. Chen et al., 2020, arXiv:2002.05709.
    """
    directions = l2_normalize(embeddings)
    similar = jnp.matmul(directions, directions.T, precision=precision) / temperature
    same = labels[:, None] == labels[None, :]
    pairs = same & ~jnp.eye(labels.shape[0], dtype=bool)
    nothing = jnp.full_like(similar, -jnp.inf)
    others = logsumexp(jnp.where(same, nothing, similar), axis=-1, keepdims=True)
    losses = jnp.logaddexp(
        jnp.zeros_like(similar), spread(others, similar.shape) - similar
    )
    losses = jnp.where(pairs, losses, 0.0)
    share = mean(pairs.astype(losses.dtype))
    share = jnp.where(share == 0.0, 1.0, share)
    return mean(losses) / share
