import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, function, max, sum


@function
def multiclass_perceptron_loss(
    scores: Float["*batch classes"],
    labels: Int["*batch"],
) -> Float["*batch"]:
    """By how much the best score exceeds that of the label.

    max(scores) - scores[labels]. NaN where a label is not from 0 to classes - 1.
    Rosenblatt, 1958, Psychological Review 65(6).
    """
    chosen = jnp.arange(scores.shape[-1]) == labels[..., None].astype(int)
    own = sum(jnp.where(chosen, scores, 0.0), axis=-1)
    known = jnp.any(chosen, axis=-1)
    excess = max(scores, axis=-1) - own
    return jnp.where(known, excess, jnp.nan)
