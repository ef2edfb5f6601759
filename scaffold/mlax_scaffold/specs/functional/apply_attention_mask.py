import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, function


@function
def apply_attention_mask(
    logits: Float["*batch heads queries keys"],
    mask: Bool["# *batch heads queries keys"],
    *,
    masked_value: float | None = None,  #: what takes their place; None: -inf
) -> Float["*batch heads queries keys"]:
    """Sets logits to -inf, or to a value, where the mask, which broadcasts, is False.

    With -inf, a query whose keys are all masked has no softmax; with a finite value, it
    attends to all of them alike.
    """
    value = -jnp.inf if masked_value is None else masked_value
    return jnp.where(mask, logits, value)
