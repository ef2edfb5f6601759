"""Windows, soft caps, segments and single biases of attention, beside NumPy and jax."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax import functional, surgery
from mlax.block import TransformerDecoderLayer, TransformerEncoderLayer
from mlax.nn import MultiHeadAttention

_RANDOM = np.random.default_rng(11)
_LENGTH = 9
_QUERY: Any
_KEY: Any
_VALUE: Any
_QUERY, _KEY, _VALUE = (_RANDOM.normal(size=(2, _LENGTH, 3, 4)) * 2.0 for _ in range(3))
_BIAS = _RANDOM.normal(size=(3, _LENGTH, _LENGTH))
_WINDOWS = [(2, None), (None, 1), (3, 2), (0, 0), (20, 20)]


def _reference(query, key, value, *, before=None, after=None, causal=False, cap=None):
    """Softmax over what each query reaches, one by one."""
    y = np.zeros(value.shape)
    for b, i, h in np.ndindex(query.shape[:3]):
        low = 0 if before is None else max(i - before, 0)
        high = key.shape[1] if after is None else i + after + 1
        at = range(low, min(i + 1 if causal else high, high, key.shape[1]))
        logits = np.array([query[b, i, h] @ key[b, j, h] for j in at]) / 2.0
        logits = logits if cap is None else cap * np.tanh(logits / cap)
        shares = np.exp(logits - logits.max())
        y[b, i, h] = shares / shares.sum() @ np.array([value[b, j, h] for j in at])
    return y


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("before", "after"), _WINDOWS)
def test_a_window_is_what_each_query_reaches(before, after, causal):
    given: dict[str, Any] = {"keys_before": before, "keys_after": after}
    y = functional.dot_product_attention(_QUERY, _KEY, _VALUE, causal=causal, **given)
    expected = _reference(
        *(_QUERY, _KEY, _VALUE),
        before=before,
        after=after,
        causal=causal,
    )
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    window: Any = tuple(_LENGTH if n is None else n for n in (before, after))
    theirs = jax.nn.dot_product_attention(
        *map(jnp.asarray, (_QUERY, _KEY, _VALUE)),
        is_causal=causal,
        local_window_size=window,
    )
    # That of jax computes in float32.
    np.testing.assert_allclose(y, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("before", "after", "causal", "chunk_size"),
    [
        *((2, None, False, 2), (2, None, True, 2), (None, 1, False, 2)),
        *((3, 2, False, 4), (0, 0, False, 1), (1, 5, True, 4)),
    ],
)
def test_in_chunks_it_is_the_same_with_its_gradients(before, after, causal, chunk_size):
    def total(query, key, value, bias, **how):
        y = functional.dot_product_attention(
            query,
            key,
            value,
            None,
            bias,
            causal=causal,
            keys_before=before,
            keys_after=after,
            soft_cap=1.5,
            **how,
        )
        return jnp.sum(jnp.sin(y)), y

    arrays = tuple(map(jnp.asarray, (_QUERY, _KEY, _VALUE, _BIAS)))
    of = jax.value_and_grad(total, argnums=(0, 1, 2, 3), has_aux=True)
    whole = jax.jit(of)(*arrays)
    parts = jax.jit(functools.partial(of, chunk_size=chunk_size))(*arrays)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12),
        whole,
        parts,
    )


def test_chunks_out_of_reach_are_not_computed():
    def attended(before, causal):
        # NaN in a value spoils what it is added to, were it with a weight of zero.
        value = jnp.asarray(_VALUE).at[:, 0].set(jnp.nan)
        y = functional.chunked_attention(
            _QUERY, _KEY, value, chunk_size=3, keys_before=before, causal=causal
        )
        return np.isfinite(y).all(axis=(0, 2, 3))

    # Keys of the first chunk are reached by queries up to 2 + 2, whose chunk ends at 5.
    assert attended(2, True).tolist() == [False] * 6 + [True] * 3
    assert not attended(None, True).any()


def test_a_soft_cap_is_that_of_the_logits_before_the_bias():
    given = _QUERY, _KEY, _VALUE
    y = functional.dot_product_attention(_QUERY, _KEY, _VALUE, soft_cap=0.7)
    np.testing.assert_allclose(y, _reference(*given, cap=0.7), rtol=1e-12, atol=1e-14)
    large = jnp.full((3, _LENGTH, _LENGTH), -1e9).at[..., 4].set(0.0)
    y = functional.dot_product_attention(
        _QUERY, _KEY, _VALUE, None, large, soft_cap=0.7
    )
    np.testing.assert_allclose(
        y, np.broadcast_to(_VALUE[:, 4:5], y.shape), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(
        functional.cap_softly(jnp.array([1e-9, 1e9, -1e9]), cap=3.0), [1e-9, 3, -3]
    )


def _layer(**hyper: Any) -> Any:
    made = MultiHeadAttention.init(
        jax.random.key(0), 6, 2, dtype=jnp.float64, precision="highest", **hyper
    )
    trainables, state, hyperparams = made
    drawn = iter(range(100))
    trainables = jax.tree.map(
        lambda w: jax.random.normal(jax.random.key(next(drawn)), w.shape, w.dtype),
        trainables,
    )
    return trainables, state, hyperparams


@pytest.mark.parametrize("before", [0, 1, 4])
@pytest.mark.parametrize("sizes", [(1,) * 7, (3, 4), (7,)])
def test_a_cache_has_the_window_of_the_whole_sequence(before, sizes):
    x = jnp.asarray(_RANDOM.normal(size=(2, 7, 6)))
    given: dict[str, Any] = {"keys_before": before, "soft_cap": 2.0}
    trainables, none, whole = _layer(causal=True, **given)
    expected, _ = MultiHeadAttention.fwd(x, trainables, none, whole)
    _, state, cached = _layer(max_length=9, batch=(2,), **given)
    parts = []
    for part in jnp.split(x, np.cumsum(sizes)[:-1], axis=1):
        y, state = MultiHeadAttention.fwd(
            part, trainables, state, cached, inference_mode=True
        )
        parts.append(y)
    # Of terms up to 10, of which some cancel.
    close: Any = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(jnp.concatenate(parts, 1), expected, **close)
    trained, _ = MultiHeadAttention.fwd(x, trainables, state, cached)
    np.testing.assert_allclose(trained, expected, **close)


def test_packed_sequences_are_as_if_they_were_alone():
    trainables, none, hyperparams = _layer()
    x = jnp.asarray(_RANDOM.normal(size=(1, 7, 6)))
    segments = jnp.array([[0, 0, 0, 1, 1, 2, 2]])
    mask = functional.make_segment_mask(segments, segments)
    y, _ = MultiHeadAttention.fwd(x, trainables, none, hyperparams, mask=mask)
    for low, high in ((0, 3), (3, 5), (5, 7)):
        alone, _ = MultiHeadAttention.fwd(x[:, low:high], trainables, none, hyperparams)
        np.testing.assert_allclose(y[:, low:high], alone, rtol=1e-12)


_PARTS = ("query", "key", "value", "out")


@pytest.mark.parametrize("use_bias", [False, True])
@pytest.mark.parametrize("part", _PARTS)
def test_one_map_may_have_a_bias_of_its_own_mind(part, use_bias):
    one = {f"{part}_bias": not use_bias}
    trainables, none, hyperparams = _layer(use_bias=use_bias, **one)
    plain, _, every = _layer(use_bias=use_bias)
    names = {name: "output" if name == "out" else name for name in _PARTS}
    for name, place in names.items():
        bias = getattr(trainables, f"to_{place}").bias
        assert (bias is not None) == (use_bias != (name == part))
    # A bias of zero is none.
    places = [f"to_{place}" for place in names.values()]
    zero = jnp.zeros(6)
    mixed, alike = (
        {
            place: getattr(trainables, place)._replace(
                bias=None if getattr(model, place).bias is None else zero
            )
            for place in places
        }
        for model in (trainables, plain)
    )
    x = jnp.asarray(_RANDOM.normal(size=(2, 4, 6)))
    a, _ = MultiHeadAttention.fwd(x, trainables._replace(**mixed), none, hyperparams)
    b, _ = MultiHeadAttention.fwd(x, trainables._replace(**alike), none, every)
    np.testing.assert_allclose(a, b, rtol=1e-12)


def _near(before: int, after: int | None) -> Any:
    offset = np.arange(_LENGTH)[:, None] - np.arange(_LENGTH)
    return (offset <= before) & ((after is None) | (-offset <= (after or 0)))


def test_transformer_layers_have_windows_and_caps():
    """As a mask of what is near, and as the attention in them with a cap."""
    x: Any = _RANDOM.normal(size=(2, _LENGTH, 8))
    given: Any = {"dtype": jnp.float64}
    layers = [
        (TransformerEncoderLayer, {"keys_before": 2, "keys_after": 1}, _near(2, 1)),
        (TransformerDecoderLayer, {"keys_before": 3}, _near(3, None)),
    ]
    for layer, window, mask in layers:
        trainables, state, plain = layer.init(jax.random.key(0), 8, 2, 16, **given)
        _, _, near = layer.init(jax.random.key(0), 8, 2, 16, **window, **given)
        y, _ = layer.fwd(x, trainables, state, near)
        expected, _ = layer.fwd(x, trainables, state, plain, mask=mask)
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
        far, _ = layer.fwd(x, trainables, state, plain)
        assert not np.allclose(y, far)
        _, _, capped = layer.init(jax.random.key(0), 8, 2, 16, soft_cap=0.5, **given)
        changed = surgery.replace(
            (trainables, state, plain),
            {"attention": (trainables.attention, state.attention, capped.attention)},
        )
        y, _ = layer.fwd(x, trainables, state, capped)
        np.testing.assert_allclose(y, layer.fwd(x, *changed)[0], rtol=1e-12)
        assert not np.allclose(y, far)


def test_a_decoder_caps_what_attends_to_a_context():
    x: Any = _RANDOM.normal(size=(2, _LENGTH, 8))
    context: Any = _RANDOM.normal(size=(2, 5, 8))
    init = functools.partial(TransformerDecoderLayer.init, dtype=jnp.float64)
    trainables, state, plain = init(jax.random.key(0), 8, 2, 16)
    capped = init(jax.random.key(0), 8, 2, 16, soft_cap=0.5)[2]
    y, _ = TransformerDecoderLayer.fwd(x, trainables, state, capped, context=context)
    part = trainables.context_attention, state.context_attention
    for hyperparams, same in ((capped, True), (plain, False)):
        layer = (trainables, state, capped)
        change = {"context_attention": (*part, hyperparams.context_attention)}
        changed = surgery.replace(layer, change)
        again, _ = TransformerDecoderLayer.fwd(x, *changed, context=context)
        assert np.allclose(y, again, rtol=1e-12, atol=1e-14) == same
