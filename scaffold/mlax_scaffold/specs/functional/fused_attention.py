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
    cudnn_attention,
    dot_product_attention,
    function,
)


@function
def fused_attention(
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
    """`dot_product_attention`, by cuDNN's fused kernel where that applies.

    It applies where the default device of jax is a GPU, to arrays of 16 bits and four
    axes, whose features are alike, a multiple of 8 and at most 128, and which have no more
    queries than keys; without bias, soft cap, dropout and chunks, with a mask where
    positions are even, and with a window where it is causal. Elsewhere this is
    `dot_product_attention`. The kernel adds up in 32 bits.

    Dao et al., 2022, arXiv:2205.14135; see `jax.nn.dot_product_attention`.
    """
    drops = dropout_key is not None and dropout_rate > 0.0
    ahead = keys_after is not None and not causal
    plain = bias is None and soft_cap is None and chunk_size is None
    if plain and not drops and not ahead:
        y = cudnn_attention(
            query, key, value, mask, causal=causal, keys_before=keys_before, scale=scale
        )
        if y is not None:
            return y
    return dot_product_attention(
        query,
        key,
        value,
        mask,
        bias,
        dropout_key,
        causal=causal,
        keys_before=keys_before,
        keys_after=keys_after,
        soft_cap=soft_cap,
        scale=scale,
        dropout_rate=dropout_rate,
        broadcast_dropout=broadcast_dropout,
        chunk_size=chunk_size,
        accum_dtype=accum_dtype,
        precision=precision,
    )
