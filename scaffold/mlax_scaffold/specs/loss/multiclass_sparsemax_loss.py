import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Int, function, sum


@function
def multiclass_sparsemax_loss(
    scores: Float["*batch classes"],
    labels: Int["*batch"],
) -> Float["*batch"]:
    """Loss whose gradient is the sparsemax of the scores, less the label.

    sum(p (z - p / 2)) - z[label] + 1 / 2, where p is the point of the simplex that is
    closest to the scores z: zero once the label's score exceeds all others by one. NaN
    where a label is not from 0 to classes - 1. Martins & Astudillo, 2016,
    arXiv:1602.02068.
    """
    classes = scores.shape[-1]
    z = scores - jnp.max(lax.stop_gradient(scores), axis=-1, keepdims=True)
    descending = -jnp.sort(-z, axis=-1)
    sums = lax.associative_scan(jnp.add, descending, axis=-1)
    ranks = jnp.arange(1, classes + 1, dtype=z.dtype)
    kept = 1.0 + ranks * descending > sums
    last = kept & ~jnp.roll(kept, -1, axis=-1).at[..., -1].set(False)
    excess = (sums - 1.0) / ranks
    threshold = sum(jnp.where(last, excess, jnp.zeros_like(excess)), axis=-1)
    p = jnp.maximum(z - threshold[..., None], 0.0)
    chosen = jnp.arange(classes) == labels[..., None]
    own = sum(jnp.where(chosen, z, jnp.zeros_like(z)), axis=-1)
    loss = sum(p * (z - 0.5 * p), axis=-1) - own + 0.5
    return jnp.where(jnp.any(chosen, axis=-1), loss, jnp.full_like(loss, jnp.nan))
