"""With `jax_debug_nans`, eager decoding with a cache meets no NaN but that of a cache that is full."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from mlax import functional, nn

KEY = jax.random.key(0)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "rotary": {"rotary": functional.rotary_embedding},
    "window": {"keys_before": 2},
    "soft cap": {"soft_cap": 5.0},
    "chunks": {"chunk_size": 2},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("dtype", [jnp.float16, jnp.float32], ids=str)
def test_cached_attention_meets_none(name: str, dtype: Any):
    trainables, cache, hyperparams = nn.MultiHeadAttention.init(
        KEY, 8, 2, causal=True, max_length=4, batch=(2,), **OPTIONS[name]
    )
    x = jax.random.normal(KEY, (2, 1, 8), dtype)
    with jax.debug_nans(True):
        for _ in range(4):
            y, cache = hyperparams.apply(x, trainables, cache, True)
            assert y.dtype == dtype
        with pytest.raises(FloatingPointError, match="nan"):
            hyperparams.apply(x, trainables, cache, True)
    for apply in (hyperparams.apply, jax.jit(hyperparams.apply, static_argnums=3)):
        assert jnp.isnan(apply(x, trainables, cache, True)[0]).all()
