import math

import jax.numpy as jnp

from mlax_scaffold.spec import Float, Precision, function, require


@function
def dot_product_attention_logits(
    query: Float["*batch queries heads features"],
    key: Float["*batch keys kv_heads features"],
    *,
    scale: float | None = None,  #: factor of the products; None: 1 / sqrt(features)
    precision: Precision | None = None,  #: of the product, see jax.lax.Precision
) -> Float["*batch heads queries keys"]:
    """Scaled products of queries and keys (Vaswani et al., 2017, arXiv:1706.03762).

    Where keys have fewer heads, each serves heads / kv_heads heads of the query in a row
    (grouped-query attention, Ainslie et al., 2023, arXiv:2305.13245).

    The query is scaled before the product, which in float16 might overflow otherwise.
    """
    *batch, queries, heads, features = query.shape
    keys, kv_heads = key.shape[-3:-1]
    require(heads % kv_heads == 0, "the heads of the keys must divide the query's")
    query = query * (1.0 / math.sqrt(features) if scale is None else scale)
    if kv_heads == heads:
        return jnp.einsum("...qhf,...khf->...hqk", query, key, precision=precision)
    grouped = query.reshape(*batch, queries, kv_heads, heads // kv_heads, features)
    logits = jnp.einsum("...qhgf,...khf->...hgqk", grouped, key, precision=precision)
    return logits.reshape(*batch, heads, queries, keys)
