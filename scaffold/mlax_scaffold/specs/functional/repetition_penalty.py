import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Positive, function


@function
def repetition_penalty(
    logits: Float["*batch classes"],
    tokens: Int["*batch length"],
    *,
    penalty: Positive,  #: above 1 classes come again less often, below 1 more often
) -> Float["*batch classes"]:
    """Logits in which classes that were there are less probable.

    Those above 0 are divided by the penalty, others multiplied by it. Keskar et al., 2019,
    arXiv:1909.05858.
    """
    there = tokens[..., None].astype(int) == jnp.arange(logits.shape[-1])
    lower = jnp.where(logits > 0.0, logits / penalty, logits * penalty)
    return jnp.where(jnp.any(there, axis=-2), lower, logits)
