import jax.numpy as jnp

from mlax_scaffold.spec import Bool, function


@function
def make_causal_mask(there: Bool["*batch length"]) -> Bool["*batch 1 length length"]:
    """True where a position may attend to another one that is there and not after it."""
    before = jnp.tri(there.shape[-1], dtype=bool)
    return before & there[..., None, None, :]
