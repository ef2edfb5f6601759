import math

import jax.numpy as jnp

from mlax_scaffold.spec import Float, Precision, function


@function
def dot_product_attention_logits(
    query: Float["*batch queries heads features"],
    key: Float["*batch keys heads features"],
    *,
    scale: float | None = None,  #: factor of the products; None: 1 / sqrt(features)
    precision: Precision | None = None,  #: of the product, see jax.lax.Precision
) -> Float["*batch heads queries keys"]:
    """Scaled products of queries and keys (Vaswani et al., 2017, arXiv:1706.03762).

    The query is scaled before the product, which in float16 might overflow otherwise.
    """
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    return jnp.einsum("...qhf,...khf->...hqk", query * scale, key, precision=precision)
