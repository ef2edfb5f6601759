import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import DType, Float, Probability, cumsum, function, softmax


@function
def top_p_logits(
    logits: Float["*batch classes"],
    *,
    p: Probability,  #: probability that the classes that stay have at least
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of logits
) -> Float["*batch classes"]:
    """Logits of the most probable classes that have probability p together.

    Others are -inf. The most probable class always stays, and so do those that are as
    probable as the last one. Holtzman et al., 2020, arXiv:1904.09751.
    """
    fixed = lax.stop_gradient(logits)
    wide = fixed if accum_dtype is None else fixed.astype(accum_dtype)
    descending = -jnp.sort(-wide, axis=-1)
    shares = softmax(descending)
    sums = cumsum(shares)
    # What comes before a class is less than p.
    kept = (sums - shares < p).at[..., 0].set(True)
    endless = jnp.full_like(descending, jnp.inf)
    least = jnp.min(jnp.where(kept, descending, endless), axis=-1, keepdims=True)
    return jnp.where(wide < least, -jnp.inf, logits)
