import jax.numpy as jnp

from mlax_scaffold.spec import Float, Precision, function, require


@function
def apply_attention_weights(
    weights: Float["*batch heads queries keys"],
    value: Float["*batch keys kv_heads features"],
    *,
    precision: Precision | None = None,  #: of the product, see jax.lax.Precision
) -> Float["*batch queries heads features"]:
    """Sums of values, weighted by attention, for each query and head.

    Where values have fewer heads, each serves heads / kv_heads heads in a row.
    """
    *batch, heads, queries, keys = weights.shape
    kv_heads, features = value.shape[-2:]
    require(heads % kv_heads == 0, "the heads of the values must divide the weights'")
    if kv_heads == heads:
        return jnp.einsum("...hqk,...khf->...qhf", weights, value, precision=precision)
    grouped = weights.reshape(*batch, kv_heads, heads // kv_heads, queries, keys)
    y = jnp.einsum("...hgqk,...khf->...qhgf", grouped, value, precision=precision)
    return y.reshape(*batch, queries, heads, features)
