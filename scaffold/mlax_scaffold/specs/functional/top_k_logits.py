import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Size, function


@function
def top_k_logits(
    logits: Float["*batch classes"],
    *,
    k: Size,  #: number of classes that stay
) -> Float["*batch classes"]:
    """Logits of which only the k largest stay; others are -inf.

    All stay that are as large as the last of them, and all where there are no more than k.
    Fan et al., 2018, arXiv:1805.04833.
    """
    if k >= logits.shape[-1]:
        return logits
    least = lax.top_k(logits, k)[0][..., -1:]
    return jnp.where(logits < least, -jnp.inf, logits)
