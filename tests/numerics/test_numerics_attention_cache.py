"""Decoding with a cache, in steps and in chunks, against one causal pass."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from numerics_arrays import assert_close, compiled, draw, reference

from mlax.functional import rotary_embedding
from mlax.nn import MultiHeadAttention

OPTIONS = {
    "features": 6,
    "heads": 2,
    "kv_heads": 1,
    "head_features": 4,
    "qk_norm": "rms",
    "rotary": rotary_embedding,
    "precision": "highest",
}


def layers(dtype: Any, shared: Any = None, **options: Any):
    """A layer with a cache, and `fwd` of the same layer without one."""

    def init(key):
        both = {**OPTIONS, **(shared or {}), "dtype": dtype}
        cache = {"max_length": 5, "batch": (2,), **options}
        plain = MultiHeadAttention.init(key, causal=True, **both)
        return plain, MultiHeadAttention.init(key, **both, **cache)

    (full, state, hyper), (_, cache, cached) = reference(init)(jax.random.key(0))

    @reference
    def expected(x, **inputs):
        return MultiHeadAttention.fwd(x, full, state, hyper, True, **inputs)[0]

    @functools.partial(compiled, dtype=dtype)
    def decode(x, cache, **inputs):
        return MultiHeadAttention.fwd(x, full, cache, cached, True, **inputs)

    return expected, decode, cache


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_steps_and_chunks_equal_one_pass(chunk_size: int | None, dtype: Any):
    """Of a sequence to itself; and with a context and values of sizes of their own."""
    sizes = {"context_features": 3, "value_features": 5} if chunk_size else {}
    expected, decode, fresh = layers(dtype, sizes, chunk_size=chunk_size)
    x, others = draw(1, (2, 5, 6), dtype), {}
    if sizes:
        others = {"context": draw(2, (2, 5, 3), dtype)}
        others["values"] = draw(3, (2, 5, 5), dtype)
    wanted = expected(x, **others)

    @functools.partial(compiled, dtype=dtype)
    def steps(x, others):
        def step(cache, tokens):
            token, others = jax.tree.map(lambda part: part[:, None], tokens)
            y, cache = inspect.unwrap(decode)(token, cache, **others)
            return cache, y[:, 0]

        tokens = jax.tree.map(lambda part: jnp.moveaxis(part, 1, 0), (x, others))
        return jax.lax.scan(step, fresh, tokens)

    cache, y = steps(x, others)
    assert_close(jnp.moveaxis(y, 0, 1), wanted, dtype)
    assert int(cache.cached) == 5
    # Another sequence: the first state again, or the index alone set to zero.
    for start in (fresh, cache._replace(cached=fresh.cached)):
        first, cache = decode(
            x[:, :3], start, **{n: a[:, :3] for n, a in others.items()}
        )
        second, _ = decode(x[:, 3:], cache, **{n: a[:, 3:] for n, a in others.items()})
        assert_close(jnp.concatenate([first, second], axis=1), wanted, dtype)
    if sizes:
        with pytest.raises(ValueError, match="has the positions of x"):
            decode(x[:, :3], fresh, **others)


def test_the_mask_is_of_the_whole_cache():
    expected, decode, fresh = layers(jnp.float32)
    x = draw(1, (2, 5, 6), jnp.float32)
    mask = jnp.array([True, False, True, True, True])
    y, _ = decode(x, fresh, mask=mask)
    assert_close(y, expected(x, mask=mask), jnp.float32)
    with pytest.raises(ValueError, match="the last axis of mask"):
        decode(x[:, :3], fresh, mask=mask[:3])


def test_what_is_beyond_the_cache_is_nan():
    _, decode, fresh = layers(jnp.float32)
    x = draw(1, (2, 4, 6), jnp.float32)
    y, cache = decode(x, fresh)
    assert bool(jnp.all(jnp.isfinite(y)))
    y, _ = decode(x[:, :2], cache)
    assert bool(jnp.all(jnp.isnan(y)))
    with pytest.raises(ValueError, match="at most max_length positions"):
        decode(draw(1, (2, 6, 6), jnp.float32), fresh)
    with pytest.raises(ValueError, match="needs batch"):
        MultiHeadAttention.init(jax.random.key(0), 4, 2, max_length=3)


def test_the_cache_keeps_its_dtype():
    _, decode, fresh = layers(jnp.float32, cache_dtype="bfloat16")
    assert fresh.cached_keys.dtype == jnp.bfloat16
    y, cache = decode(draw(1, (2, 2, 6), jnp.float16), fresh)
    assert y.dtype == jnp.float16
    assert jax.tree.map(jnp.result_type, cache) == jax.tree.map(jnp.result_type, fresh)


def test_training_needs_no_cache():
    options = {**OPTIONS, "max_length": 2, "batch": (2,)}
    key = jax.eval_shape(lambda: jax.random.key(0))
    weights, cache, hyper = jax.eval_shape(
        lambda key: MultiHeadAttention.init(key, **options), key
    )
    x = jax.ShapeDtypeStruct((2, 4, 6), jnp.float32)
    run = jax.jit(lambda x, w, state: MultiHeadAttention.fwd(x, w, state, hyper))
    y, _ = jax.eval_shape(run, x, weights, cache)
    assert y.shape == x.shape
    jaxpr = str(run.trace(x, weights, cache).jaxpr)
    assert "dynamic_update_slice" not in jaxpr


def test_initializers():
    weights, *_ = MultiHeadAttention.init(
        jax.random.key(0),
        4,
        2,
        kernel_initializer=jax.nn.initializers.ones,
        bias_initializer=jax.nn.initializers.constant(2.0),
        out_kernel_initializer=jax.nn.initializers.constant(3.0),
    )
    values = {
        name: (float(linear.kernel[0, 0]), float(linear.bias[0]))
        for name, linear in weights._asdict().items()
        if linear is not None
    }
    inner = (1.0, 2.0)
    assert values == {
        "to_query": inner,
        "to_key": inner,
        "to_value": inner,
        "to_output": (3.0, 2.0),
    }
