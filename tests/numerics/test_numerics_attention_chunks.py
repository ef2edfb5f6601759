"""dot_product_attention with all its inputs, and in chunks, against NumPy in float64."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import functional
from numerics_arrays import assert_close, compiled, draw, numpy

attend = functional("dot_product_attention")


def inputs(dtype: Any, queries: int = 5, keys: int = 7, kv_heads: int = 2):
    """Four heads; the first query may attend to nothing."""
    mask = np.random.default_rng(0).random((2, 1, queries, keys)) < 0.6
    mask[:, :, 0] = False
    return (
        draw(0, (2, queries, 4, 3), dtype),
        draw(1, (2, keys, kv_heads, 3), dtype),
        draw(2, (2, keys, kv_heads, 2), dtype),
        jnp.asarray(mask),
        draw(3, (4, 1, keys), dtype),
    )


def reference(q, k, v, mask, bias, cotangent, causal: bool):
    """The result, and its gradients with respect to q, k, v and bias."""
    group = q.shape[2] // k.shape[2]
    wide_k, wide_v = (np.repeat(a, group, axis=2) for a in (k, v))
    scale = 1 / np.sqrt(q.shape[-1])
    logits = np.einsum("bqhf,bkhf->bhqk", q, wide_k) * scale + bias
    allowed = np.broadcast_to(mask, logits.shape)
    if causal:
        allowed = allowed & np.tri(*logits.shape[-2:], dtype=bool)
    weights = np.exp(logits - logits.max()) * allowed
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    y = np.einsum("bhqk,bkhf->bqhf", weights, wide_v)
    to_weights = np.einsum("bqhf,bkhf->bhqk", cotangent, wide_v)
    mean = (weights * to_weights).sum(-1, keepdims=True)
    to_logits = weights * (to_weights - mean)
    to_v = np.einsum("bhqk,bqhf->bkhf", weights, cotangent)
    to_k = np.einsum("bhqk,bqhf->bkhf", to_logits, q) * scale
    to_q = np.einsum("bhqk,bkhf->bqhf", to_logits, wide_k) * scale
    grouped = (*k.shape[:3], group, -1)
    to_k, to_v = (a.reshape(grouped).sum(3) for a in (to_k, to_v))
    return y, (to_q, to_k, to_v, to_logits.sum((0, 2), keepdims=True)[0])


@pytest.mark.parametrize(
    ("chunk_size", "causal"), [(None, False), (None, True), (3, False), (4, True)]
)
def test_values_and_gradients(chunk_size: int | None, causal: bool, dtype: Any):
    q, k, v, mask, bias = inputs(dtype)
    cotangent = draw(9, (2, 5, 4, 2), dtype)

    @functools.partial(compiled, dtype=dtype)
    def ours(q, k, v, bias):
        y, vjp = jax.vjp(
            lambda q, k, v, bias: attend(
                q,
                k,
                v,
                mask,
                bias,
                chunk_size=chunk_size,
                causal=causal,
                precision="highest",
            ),
            *(q, k, v, bias),
        )
        return y, vjp(cotangent)

    expected = reference(*numpy((q, k, v, mask, bias, cotangent)), causal=causal)
    actual = ours(q, k, v, bias)
    assert_close(actual, expected, dtype)
    assert not np.any(actual[0][:, 0]), "the first query attends to nothing"


@pytest.mark.parametrize("shape", [(), (7,), (5, 1), (4, 1, 1), (1, 1, 5, 7)])
def test_masks_and_biases_broadcast(shape: tuple[int, ...]):
    q, k, v, *_ = inputs(jnp.float32)
    mask = jnp.asarray(np.random.default_rng(1).random(shape) < 0.7)
    bias = draw(5, shape, jnp.float32)
    full = (2, 4, 5, 7)
    wide = jnp.broadcast_to(mask, full), jnp.broadcast_to(bias, full)

    @jax.jit
    def run(q, k, v):
        chosen = ((*wide, None), (mask, bias, None), (mask, bias, 3))
        return [
            attend(q, k, v, mask, bias, chunk_size=size, precision="highest")
            for mask, bias, size in chosen
        ]

    expected, *others = run(q, k, v)
    for y in others:
        assert_close(y, expected, jnp.float32)


def test_what_does_not_broadcast_is_refused():
    q, k, v, *_ = inputs(jnp.float32)
    with pytest.raises(ValueError, match=r"mask must broadcast .* got \(6, 7\)"):
        attend(q, k, v, jnp.ones((6, 7), bool))
    with pytest.raises(ValueError, match="heads of the keys must divide"):
        attend(q, *(jnp.concatenate([a, a[:, :, :1]], 2) for a in (k, v)))


def test_chunks_in_the_future_are_not_computed():
    """The last key is NaN, and follows all queries: it spreads to no result or gradient."""
    q, k, v, *_ = inputs(jnp.float32, queries=6)
    k, v = (x.at[:, 6:].set(jnp.nan) for x in (k, v))

    @jax.jit
    def run(q, k, v):
        options = {"causal": True, "chunk_size": 3}
        y, vjp = jax.vjp(lambda *x: attend(*x, **options), q, k, v)
        return y, *vjp(jnp.ones_like(y))

    for x in run(q, k, v):
        assert bool(np.isfinite(x).all())


def test_memory_of_chunks_is_linear():
    """Memory of a gradient: four times as much for four times the length, not sixteen."""

    def temporary(length: int, chunk_size: int | None) -> int:
        x = jax.ShapeDtypeStruct((length, 2, 16), jnp.float32)

        def loss(q, k, v):
            y = attend(q, k, v, causal=True, chunk_size=chunk_size)
            return jnp.sum(jnp.square(y))

        step = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))
        analysis: Any = step.lower(x, x, x).compile().memory_analysis()
        return analysis.temp_size_in_bytes

    long = temporary(2048, 256)
    assert long < 6 * temporary(512, 256)
    assert long < 0.2 * temporary(2048, None)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_dropout(chunk_size: int | None):
    """Weights are dropped and scaled; with broadcasting the same ones everywhere."""
    q = np.zeros((3, 4, 2, 5))
    v = np.broadcast_to(np.eye(6)[:, None], (3, 6, 2, 6))
    k = np.zeros((3, 6, 2, 5))

    @jax.jit
    def run(q, k, v, key):
        options = {"dropout_rate": 0.5, "chunk_size": chunk_size, "dropout_key": key}
        return [attend(q, k, v, **options, broadcast_dropout=b) for b in (False, True)]

    free, shared = map(np.asarray, run(q, k, v, jax.random.key(0)))
    for drawn in (free, shared):
        assert set(np.unique(np.round(drawn * 6, 4))) == {0.0, 2.0}
    assert 0.3 < np.mean(free > 0) < 0.7
    assert np.all(shared == shared[:1, :, :1])
    assert not np.all(free == free[:1, :, :1])
