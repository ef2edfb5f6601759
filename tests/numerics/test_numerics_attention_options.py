"""Segments, returned weights and attention of one's own, beside flax and NumPy."""

from __future__ import annotations

import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax import functional
from mlax.block import TransformerEncoderLayer
from mlax.nn import MultiHeadAttention

_RANDOM = np.random.default_rng(5)
_SEGMENTS: Any = np.array([[1, 1, 1, 2, 2, 0], [3, 4, 4, 4, 4, 4]])
_X: Any = _RANDOM.normal(size=(2, 6, 6))


def _drawn(made: Any) -> Any:
    """An initialized layer with all its weights drawn, so that no bias is zero."""
    trainables, state, hyperparams = made
    drawn = jax.tree.map(lambda leaf: _RANDOM.normal(size=leaf.shape), trainables)
    return drawn, state, hyperparams


def _attention(**hyper: Any) -> Any:
    options = {"dtype": jnp.float64, "precision": "highest", **hyper}
    key = jax.random.key(0)
    return _drawn(jax.jit(lambda: MultiHeadAttention.init(key, 6, 2, **options))())


def _apart(run: Any) -> Any:
    """What `run` makes of each segment alone, put together."""
    y = np.full(_X.shape, np.nan)
    for row, ids in enumerate(np.asarray(_SEGMENTS)):
        for segment in set(ids):
            at = np.flatnonzero(ids == segment)
            y[row, at] = run(_X[row : row + 1, at])[0]
    return y


@pytest.mark.parametrize("chunk_size", [None, 4])
def test_segments_are_as_apart(chunk_size):
    trainables, state, hyperparams = _attention(causal=True, chunk_size=chunk_size)

    @jax.jit
    def run(x, **inputs):
        return hyperparams.apply(x, trainables, state, True, **inputs)[0]

    y = run(_X, segments=_SEGMENTS)
    np.testing.assert_allclose(y, _apart(run), rtol=1e-12, atol=1e-13)
    assert not np.allclose(y, run(_X))


def test_segments_of_an_encoder_layer_are_as_apart():
    key, options = jax.random.key(0), {"dtype": jnp.float64, "precision": "highest"}
    make = jax.jit(lambda: TransformerEncoderLayer.init(key, 6, 2, 8, **options))
    trainables, state, hyperparams = _drawn(make())

    @jax.jit
    def run(x, **inputs):
        return hyperparams.apply(x, trainables, state, True, **inputs)[0]

    y = run(_X, segments=_SEGMENTS)
    np.testing.assert_allclose(y, _apart(run), rtol=1e-11, atol=1e-12)


def test_keys_have_segments_of_their_own():
    trainables, state, hyperparams = _attention()
    context = jnp.asarray(_RANDOM.normal(size=(2, 3, 6)))
    own = jnp.array([[2, 1, 1], [4, 3, 3]])
    run = functools.partial(hyperparams.apply, _X, trainables, state, True)
    y, _ = run(context=context, segments=_SEGMENTS, key_segments=own)
    mask = functional.make_segment_mask(_SEGMENTS, own)
    expected, _ = run(context=context, mask=mask)
    np.testing.assert_array_equal(y, expected)
    both, _ = run(
        context=context, segments=_SEGMENTS, key_segments=own, mask=jnp.array(False)
    )
    bias = trainables.to_output.bias
    np.testing.assert_array_equal(both, jnp.broadcast_to(bias, both.shape))
    with pytest.raises(ValueError, match="without key_segments there are as many keys"):
        run(context=context, segments=_SEGMENTS)


def test_segments_of_a_cache():
    """Token by token, each with the segments of all that the cache will have."""
    trainables, empty, hyperparams = _attention(max_length=6, batch=(2,))
    run = jax.jit(hyperparams.apply, static_argnums=3)
    whole, _ = run(_X, trainables, empty, False, segments=_SEGMENTS)
    state, parts = empty, []
    for i in range(6):
        given = {"segments": _SEGMENTS[:, i : i + 1], "key_segments": _SEGMENTS}
        y, state = run(_X[:, i : i + 1], trainables, state, True, **given)
        parts.append(y)
    y = np.concatenate(parts, axis=1)
    np.testing.assert_allclose(y, whole, rtol=1e-12, atol=1e-13)


def test_weights_are_those_of_flax():
    trainables, state, hyperparams = _attention()
    mask = jnp.asarray(_RANDOM.random((2, 1, 6, 6)) < 0.7) | jnp.eye(6, dtype=bool)
    module = nn.MultiHeadDotProductAttention(2, dtype=jnp.float64, precision="highest")
    shape = {"kernel": (6, 2, 3), "bias": (2, 3)}
    names = {"query": "to_query", "key": "to_key", "value": "to_value"}
    params: dict[str, Any] = {
        name: {
            kind: getattr(getattr(trainables, part), kind).reshape(shape[kind])
            for kind in shape
        }
        for name, part in names.items()
    }
    out = trainables.to_output
    params["out"] = {"kernel": out.kernel.reshape(2, 3, 6), "bias": out.bias}
    expected, sown = module.apply(
        {"params": params}, _X, mask=mask, sow_weights=True, mutable="intermediates"
    )
    [theirs] = jax.tree.leaves(sown)
    (y, weights), _ = MultiHeadAttention.with_weights(
        _X, trainables, state, hyperparams, True, mask=mask
    )
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(weights, theirs, rtol=1e-12, atol=1e-14)


def test_weights_are_what_values_are_multiplied_by():
    """With dropout, a window and a cache; of what may attend to nothing they are zero."""
    hyper = {"dropout_rate": 0.5, "broadcast_dropout": True, "keys_before": 2}
    trainables, state, hyperparams = _attention(**hyper, kv_heads=1)
    arguments = _X, trainables, state, hyperparams, False, jax.random.key(1)
    y, _ = MultiHeadAttention.fwd(*arguments)
    (again, weights), _ = MultiHeadAttention.with_weights(*arguments)
    np.testing.assert_allclose(again, y, rtol=1e-12)
    value = _X @ trainables.to_value.kernel + trainables.to_value.bias
    joined = jnp.einsum("bhqk,bkf->bqhf", weights, value).reshape(2, 6, 6)
    expected = joined @ trainables.to_output.kernel + trainables.to_output.bias
    np.testing.assert_allclose(y, expected, rtol=1e-11)
    assert 0.3 < (np.asarray(weights) == 0.0).mean() < 0.9

    heads = _X.reshape(2, 6, 2, 3)
    weights = functional.attention_weights(heads, heads, jnp.arange(6)[:, None] > 0)
    total = jnp.sum(weights, axis=-1)
    np.testing.assert_allclose(total[..., 1:], 1.0)
    assert not total[..., 0].any()

    decoding = MultiHeadAttention.init(
        jax.random.key(0), 6, 2, max_length=8, batch=(2,), dtype=jnp.float64
    )
    (_, weights), state = MultiHeadAttention.with_weights(_X, *decoding, True)
    assert weights.shape == (2, 2, 6, 8)
    assert state.cached == 6
    assert not weights[..., 6:].any()


def _sigmoid_attention(query, key, value, mask, bias, dropout_key, *, causal, **rest):
    """Ramapuram et al., 2024, arXiv:2409.04431."""
    assert rest["dropout_rate"] == 0.0
    assert dropout_key is bias is None
    logits = jnp.einsum("bqhf,bkhf->bhqk", query, key) * query.shape[-1] ** -0.5
    shares = jax.nn.sigmoid(logits - np.log(key.shape[1]))
    if causal:
        mask = jnp.tri(*logits.shape[-2:], dtype=bool) & (
            True if mask is None else mask
        )
    shares = shares if mask is None else shares * mask
    return jnp.einsum("bhqk,bkhf->bqhf", shares, value)


def test_attention_of_ones_own():
    hyper = {"causal": True, "attention_function": _sigmoid_attention}
    trainables, state, hyperparams = _attention(**hyper)
    y, _ = hyperparams.apply(_X, trainables, state, True)
    x, w = np.asarray(_X), jax.tree.map(np.asarray, trainables)
    q, k, v = (
        (x @ m.kernel + m.bias).reshape(2, 6, 2, 3)
        for m in (w.to_query, w.to_key, w.to_value)
    )
    shares = 1.0 / (1.0 + 6.0 * np.exp(-np.einsum("bqhf,bkhf->bhqk", q, k) / 3**0.5))
    joined = np.einsum("bhqk,bkhf->bqhf", np.tril(shares), v).reshape(2, 6, 6)
    expected = joined @ w.to_output.kernel + w.to_output.bias
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-13)
    _, empty, decoding = _attention(**hyper, max_length=6, batch=(2,))
    first, cache = decoding.apply(_X[:, :4], trainables, empty, True)
    np.testing.assert_allclose(first, expected[:, :4], rtol=1e-12, atol=1e-13)
    last, _ = decoding.apply(_X[:, 4:], trainables, cache, True)
    assert last.shape == (2, 2, 6)
    with pytest.raises(ValueError, match="has no weights to return"):
        MultiHeadAttention.with_weights(_X, trainables, state, hyperparams, True)


_KERNEL = jax.nn.dot_product_attention
"""That of jax, which runs on a CPU without `implementation`."""


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of cuDNN's kernel, as on a GPU: jax's own path stands in its place."""
    calls: list[Any] = []

    def run(*arrays: Any, implementation: Any, local_window_size=None, **given: Any):
        assert implementation == "cudnn"
        calls.append(given)
        return _KERNEL(*arrays, local_window_size=local_window_size, **given)

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax.nn, "dot_product_attention", run)
    return calls


def _arrays(dtype: Any, features: int = 8, queries: int = 6) -> Any:
    shapes = (2, queries, 4, features), (2, 6, 2, features), (2, 6, 2, features)
    return [jnp.asarray(_RANDOM.normal(size=shape), dtype) for shape in shapes]


_MASK = (jnp.arange(12).reshape(2, 1, 6, 1) % 5 != 0) & (jnp.arange(6) != 3)


@pytest.mark.parametrize(
    ("given", "mask"),
    [
        ({"scale": 0.3}, None),
        ({"causal": True, "keys_before": 1}, None),
        ({}, _MASK[0, 0]),
        ({"causal": True}, _MASK[:, :, :, :1]),
        ({"causal": True, "keys_before": 1, "keys_after": 2}, _MASK),
    ],
)
def test_the_fused_kernel_is_given_what_dot_product_attention_is(kernel, given, mask):
    query, key, value = _arrays(jnp.float16)

    def total(attend, query, key, value):
        y = attend(query, key, value, mask, **given)
        return jnp.sum(jnp.sin(y.astype(jnp.float64))), y

    def run(attend, dtype):
        arrays = (x.astype(dtype) for x in (query, key, value))
        of = jax.value_and_grad(total, argnums=(1, 2, 3), has_aux=True)
        return of(attend, *arrays)

    (_, y), gradients = run(functional.fused_attention, jnp.float16)
    assert len(kernel) == 1
    assert y.dtype == jnp.float16
    (_, expected), exact = run(functional.dot_product_attention, jnp.float64)
    np.testing.assert_allclose(y, expected, atol=4e-3)
    for a, b in zip(gradients, exact, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-2)


@pytest.mark.parametrize(
    "given",
    [
        {"bias": jnp.ones((4, 6, 6), jnp.float16)},
        {"soft_cap": 2.0},
        {"chunk_size": 2},
        {"keys_before": 1},
        {"keys_after": 1},
        {"dropout_rate": 0.5, "dropout_key": jax.random.key(0)},
        {"dtype": jnp.float32},
        {"features": 4},
        {"features": 136},
        {"queries": 8},
        {"queries": 5, "mask": jnp.array(True)},
    ],
)
def test_elsewhere_it_is_dot_product_attention(kernel, given):
    given = dict(given)
    sizes = {name: given.pop(name) for name in ("features", "queries") if name in given}
    arrays = _arrays(given.pop("dtype", jnp.float16), **sizes)

    @jax.jit
    def both(*arrays):
        functions = functional.fused_attention, functional.dot_product_attention
        return [function(*arrays, **given) for function in functions]

    np.testing.assert_array_equal(*both(*arrays))
    assert not kernel


def test_layers_take_it():

    def run(key, **hyper):
        layer = TransformerEncoderLayer.init(key, 6, 2, 8, **hyper)
        return layer[2].apply(_X.astype(jnp.float32), *layer[:2], True)[0]

    @jax.jit
    def both(key):
        return run(key, attention_function=functional.fused_attention), run(key)

    np.testing.assert_array_equal(*both(jax.random.key(0)))
