"""Kernels of vendors, where the device has them."""

import jax
import jax.numpy as jnp


def cudnn_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: jax.Array | None = None,
    *,
    causal: bool = False,
    keys_before: int | None = None,
    scale: float | None = None,
) -> jax.Array | None:
    """Attention by cuDNN's fused kernel, which adds up in 32 bits; None where it has none.

    It has one where the default device of jax is a GPU, for arrays of 16 bits and four
    axes whose features are alike, a multiple of 8 and at most 128, with no more queries
    than keys, and with a mask where both are even. See `jax.nn.dot_product_attention`.

    Args:
        query: (batch, queries, heads, features).
        key: (batch, keys, kv_heads, features).
        value: (batch, keys, kv_heads, features).
        mask: boolean, broadcasts to (batch, heads, queries, keys); True: may attend.
        causal: whether query i attends to keys up to i only.
        keys_before: how far back a query reaches, where it is causal; None: to all.
        scale: factor of the products; None: 1 / sqrt(features).
    """
    queries, keys, features = query.shape[-3], key.shape[-3], query.shape[-1]
    if not (
        jax.default_backend() == "gpu"
        and query.ndim == 4
        and query.dtype in (jnp.float16, jnp.bfloat16)
        and value.shape[-1] == features <= 128
        and features % 8 == 0
        and 0 < queries <= keys
        and (causal or keys_before is None)
        and (mask is None or (queries % 2 == 0 and keys % 2 == 0))
    ):
        return None
    if mask is None:
        return jax.nn.dot_product_attention(
            query,
            key,
            value,
            scale=scale,
            is_causal=causal,
            local_window_size=None if keys_before is None else (keys_before, 0),
            implementation="cudnn",
        )
    allowed = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    allowed = jnp.broadcast_to(allowed, (*allowed.shape[:2], queries, keys))
    if causal:
        distance = jnp.arange(queries)[:, None] - jnp.arange(keys)
        reach = distance >= 0
        if keys_before is not None:
            reach = reach & (distance <= keys_before)
        allowed = allowed & reach[None, None]
    y = jax.nn.dot_product_attention(
        query, key, value, mask=allowed, scale=scale, implementation="cudnn"
    )
    # The kernel gives the mean of all values to what may attend to nothing.
    something = jnp.any(allowed, axis=-1).swapaxes(-1, -2)[..., None]
    return jnp.where(something, y, jnp.zeros_like(y))
