import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Bool, Float, Int, Size, function


@function
def in_top_k(
    logits: Float["*batch classes"],
    labels: Int["*batch"],
    *,
    k: Size = 1,  #: number of classes among which the label has to be
) -> Bool["*batch"]:
    """Whether the label is one of the k classes with the largest logits.

    Of equal logits the class with the smaller number comes first, as in `jnp.argmax` and
    `jax.lax.top_k`. False where the label is no class, or where a logit is NaN.
    """
    logits = lax.stop_gradient(logits)
    classes = jnp.arange(logits.shape[-1])
    places = labels[..., None].astype(int)
    chosen = classes == places
    own = jnp.where(chosen, logits, -jnp.inf)
    own = jnp.max(own, axis=-1, keepdims=True, initial=-jnp.inf)
    before = (logits > own) | ((logits == own) & (classes < places))
    known = jnp.any(chosen, axis=-1) & ~jnp.any(jnp.isnan(logits), axis=-1)
    return known & (jnp.sum(before, axis=-1) < k)
