import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, function


@function
def apply_attention_mask(
    logits: Float["*batch heads queries keys"],
    mask: Bool["# *batch heads queries keys"],
) -> Float["*batch heads queries keys"]:
    """Sets logits to -inf where the mask, which broadcasts, is False."""
    return jnp.where(mask, logits, jnp.full_like(logits, -jnp.inf))
