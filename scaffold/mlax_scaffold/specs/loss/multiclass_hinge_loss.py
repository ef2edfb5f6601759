import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, function, max, sum


@function
def multiclass_hinge_loss(
    scores: Float["*batch classes"],
    labels: Int["*batch"],
) -> Float["*batch"]:
    """By how much the score of a class does not exceed all others by one.

    max over classes k of scores[k] + (k is not the label), less the label's score.
    NaN where a label is not from 0 to classes - 1. Crammer & Singer, 2001, JMLR 2.
    """
    chosen = jnp.arange(scores.shape[-1]) == labels[..., None].astype(int)
    own = sum(jnp.where(chosen, scores, 0.0), axis=-1)
    best = max(jnp.where(chosen, scores, scores + 1.0), axis=-1)
    known = jnp.any(chosen, axis=-1)
    return jnp.where(known, best - own, jnp.nan)
