import jax.numpy as jnp

from mlax_scaffold.spec import (
    Bool,
    DType,
    Float,
    Precision,
    apply_attention_mask,
    apply_attention_weights,
    dot_product_attention_logits,
    function,
    softmax,
)


@function
def dot_product_attention(
    query: Float["*batch queries heads features"],
    key: Float["*batch keys heads features"],
    value: Float["*batch keys heads value_features"],
    mask: Bool["..."] | None = None,
    *,
    causal: bool = False,  #: whether position i attends to positions up to i only
    scale: float | None = None,  #: factor of the products; None: 1 / sqrt(features)
    accum_dtype: DType | None = None,  #: dtype of the softmax; None: that of the query
    precision: Precision | None = None,  #: of the products, see jax.lax.Precision
) -> Float["*batch queries heads value_features"]:
    """softmax(scale Q K^T) V for each head (Vaswani et al., 2017, arXiv:1706.03762).

    The mask, True where a query may attend to a key, broadcasts to (*batch, heads,
    queries, keys). A query that may attend to nothing gets zeros.
    """
    logits = dot_product_attention_logits(query, key, scale=scale, precision=precision)
    if causal:
        allowed = jnp.tri(logits.shape[-2], logits.shape[-1], dtype=bool)
        mask = allowed if mask is None else mask & allowed
    if mask is not None:
        logits = apply_attention_mask(logits, mask)
    weights = softmax(logits, axis=-1, accum_dtype=accum_dtype)
    return apply_attention_weights(weights, value, precision=precision)
