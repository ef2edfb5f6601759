import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, function


@function
def sparsemax_loss(
    logits: Float["*shape"],
    labels: Float["*shape"],
) -> Float["*shape"]:
    """Binary loss that is zero where the margin is one, of labels of 0 or 1.

    f((1 - 2 labels) logits), where f(x) is 0 up to -1, (x + 1)^2 / 4 up to 1, and x
    beyond. Martins & Astudillo, 2016, arXiv:1602.02068.
    """
    x = (1.0 - 2.0 * labels) * logits
    inside = lax.square(jnp.clip(x, -1.0, 1.0) + 1.0) * 0.25
    return inside + jnp.maximum(x - 1.0, 0.0)
