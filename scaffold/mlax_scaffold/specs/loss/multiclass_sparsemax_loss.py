import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Int, cumsum, function, spread, sum


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
    fixed = lax.stop_gradient(scores)
    top = jnp.max(fixed, axis=-1, keepdims=True)
    z = scores - top
    # The support of p: the largest classes that leave something for each of them.
    descending = -jnp.sort(-(fixed - top), axis=-1)
    sums = cumsum(descending)
    ranks = jnp.arange(1, classes + 1, dtype=z.dtype)
    least = jnp.where(1.0 + ranks * descending > sums, descending, 0.0)
    support = fixed - top >= jnp.min(least, axis=-1, keepdims=True)
    inside = jnp.where(support, z, 0.0)
    count = sum(support.astype(z.dtype), axis=-1, keepdims=True)
    threshold = (sum(inside, axis=-1, keepdims=True) - 1.0) / count
    p = jnp.where(support, z - spread(threshold, z.shape), 0.0)
    chosen = jnp.arange(classes) == labels[..., None].astype(int)
    own = sum(jnp.where(chosen, z, 0.0), axis=-1)
    loss = sum(p * (z - 0.5 * p), axis=-1) - own + 0.5
    return jnp.where(jnp.any(chosen, axis=-1), loss, jnp.nan)
