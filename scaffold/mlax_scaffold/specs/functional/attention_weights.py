import jax.numpy as jnp

from mlax_scaffold.spec import (
    Bool,
    Count,
    DType,
    Float,
    Positive,
    Precision,
    apply_attention_mask,
    attention_window,
    cap_softly,
    dot_product_attention_logits,
    function,
    softmax,
    spread,
)


@function
def attention_weights(
    query: Float["*batch queries heads features"],
    key: Float["*batch keys kv_heads features"],
    mask: Bool["# *batch heads queries keys"] | None = None,
    bias: Float["# *batch heads queries keys"] | None = None,
    *,
    causal: bool = False,  #: whether position i attends to positions up to i only
    keys_before: Count | None = None,  #: how far back a query reaches; None: to all
    keys_after: Count | None = None,  #: how far it reaches ahead; None: to all
    soft_cap: Positive | None = None,  #: see `cap_softly`; None: logits are not capped
    scale: float | None = None,  #: factor of the products; None: 1 / sqrt(features)
    accum_dtype: DType | None = None,  #: dtype of the softmax; None: that of the query
    precision: Precision | None = None,  #: of the products, see jax.lax.Precision
) -> Float["*batch heads queries keys"]:
    """softmax(scale Q K^T + bias): how much each query attends to each key.

    What `dot_product_attention` weights values by (Vaswani et al., 2017,
    arXiv:1706.03762). Where a query may attend to nothing, all its weights are zero.
    """
    logits = dot_product_attention_logits(query, key, scale=scale, precision=precision)
    if soft_cap is not None:
        logits = cap_softly(logits, cap=soft_cap)
    if bias is not None:
        logits = logits + spread(bias, logits.shape)
    if causal:
        allowed = jnp.tri(logits.shape[-2], logits.shape[-1], dtype=bool)
        mask = allowed if mask is None else mask & allowed
    if keys_before is not None or keys_after is not None:
        near = attention_window(
            jnp.arange(logits.shape[-2]),
            jnp.arange(logits.shape[-1]),
            keys_before=keys_before,
            keys_after=keys_after,
        )
        mask = near if mask is None else mask & near
    if mask is not None:
        logits = apply_attention_mask(logits, mask)
    return softmax(logits, axis=-1, accum_dtype=accum_dtype)
