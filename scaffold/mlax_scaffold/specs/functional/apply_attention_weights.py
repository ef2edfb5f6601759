import jax.numpy as jnp

from mlax_scaffold.spec import Float, Precision, function


@function
def apply_attention_weights(
    weights: Float["*batch heads queries keys"],
    value: Float["*batch keys heads features"],
    *,
    precision: Precision | None = None,  #: of the product, see jax.lax.Precision
) -> Float["*batch queries heads features"]:
    """Sums of values, weighted by attention, for each query and head."""
    return jnp.einsum("...hqk,...khf->...qhf", weights, value, precision=precision)
