import jax.numpy as jnp

from mlax_scaffold.spec import Float, Positive, function


@function
def cap_softly(
    x: Float["..."],
    *,
    cap: Positive,  #: what no result exceeds, nor its negative
) -> Float["..."]:
    """Limits x softly: cap tanh(x / cap), which is x near 0.

    As the logits of attention and of the output in Gemma 2 (2024, arXiv:2408.00118).
    """
    return cap * jnp.tanh(x / cap)
