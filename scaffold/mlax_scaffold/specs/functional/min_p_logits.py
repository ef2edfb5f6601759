import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Probability, function


@function
def min_p_logits(
    logits: Float["*batch classes"],
    *,
    p: Probability,  #: least probability, as a share of that of the most probable class
) -> Float["*batch classes"]:
    """Logits of classes that are not much less probable than the most probable one.

    Others are -inf. Nguyen et al., 2024, arXiv:2407.01082.
    """
    if p == 0.0:
        return logits
    top = jnp.max(lax.stop_gradient(logits), axis=-1, keepdims=True)
    least = top + math.log(p)
    return jnp.where(logits < least, -jnp.inf, logits)
