from mlax_scaffold.spec import (
    Bool,
    Count,
    DType,
    Float,
    Key,
    Positive,
    Precision,
    Probability,
    Size,
    apply_attention_weights,
    attention_weights,
    chunked_attention,
    dropout,
    function,
)


@function
def dot_product_attention(
    query: Float["*batch queries heads features"],
    key: Float["*batch keys kv_heads features"],
    value: Float["*batch keys kv_heads value_features"],
    mask: Bool["# *batch heads queries keys"] | None = None,
    bias: Float["# *batch heads queries keys"] | None = None,
    dropout_key: Key | None = None,
    *,
    causal: bool = False,  #: whether position i attends to positions up to i only
    keys_before: Count | None = None,  #: how far back a query reaches; None: to all
    keys_after: Count | None = None,  #: how far it reaches ahead; None: to all
    soft_cap: Positive | None = None,  #: see `cap_softly`; None: logits are not capped
    scale: float | None = None,  #: factor of the products; None: 1 / sqrt(features)
    dropout_rate: Probability = 0.0,  #: of the weights, where there is a dropout_key
    broadcast_dropout: bool = False,  #: whether batch and heads share what is dropped
    chunk_size: Size | None = None,  #: see `chunked_attention`; None: all at once
    accum_dtype: DType | None = None,  #: dtype of the softmax; None: that of the query
    precision: Precision | None = None,  #: of the products, see jax.lax.Precision
) -> Float["*batch queries heads value_features"]:
    """softmax(scale Q K^T + bias) V for each head.

    Vaswani et al., 2017, arXiv:1706.03762. The mask is True where a query may attend to
    a key. A query that may attend to nothing gets zeros, and its gradients are finite.

    Where keys and values have fewer heads, each serves heads / kv_heads heads of the
    query in a row (grouped-query attention, Ainslie et al., 2023, arXiv:2305.13245).

    The window is one of places: query i is at that of key i. A bias is not capped.
    """
    if chunk_size is not None:
        return chunked_attention(
            query,
            key,
            value,
            mask,
            bias,
            dropout_key,
            chunk_size=chunk_size,
            causal=causal,
            keys_before=keys_before,
            keys_after=keys_after,
            soft_cap=soft_cap,
            scale=scale,
            dropout_rate=dropout_rate,
            broadcast_dropout=broadcast_dropout,
            accum_dtype=accum_dtype,
            precision=precision,
        )
    weights = attention_weights(
        query,
        key,
        mask,
        bias,
        causal=causal,
        keys_before=keys_before,
        keys_after=keys_after,
        soft_cap=soft_cap,
        scale=scale,
        accum_dtype=accum_dtype,
        precision=precision,
    )
    if dropout_key is not None and dropout_rate > 0.0:
        shared = tuple(range(weights.ndim - 2)) if broadcast_dropout else ()
        weights = dropout(
            weights, dropout_key, rate=dropout_rate, broadcast_axis=shared
        )
    return apply_attention_weights(weights, value, precision=precision)
