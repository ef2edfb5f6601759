"""Integers of every dtype mean the same, where a size or a distance is none of that dtype."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_arrays import draw

import mlax.functional as F
from mlax import loss, metric, nn

SIZE = 256
"""Of classes and positions: one more than uint8 holds, and twice as many as int8."""

NARROW = ("int8", "uint8", "int16", "uint16", "uint32")

LOGITS = draw(0, (8, SIZE), jnp.float32)
BYTES = np.array([0, 1, 2, 3, 100, 126, 127, 255])
LENGTHS = np.array([200, 120, 70])
SHORT = np.random.default_rng(0).integers(1, 6, (3, 205))
FRAMES = draw(1, (3, 420, 6), jnp.float32)


def layer(kind: Any, x: Any, *, training: bool = False, **given: Any) -> Any:
    """What a layer with hyperparameters and inputs by name makes of `x`."""
    options = {n: given.pop(n) for n in tuple(given) if n not in INPUTS}
    weights, states, hyperparams = kind.init(
        jax.random.key(0), **options, dtype=jnp.float32
    )
    y, _ = kind.fwd(x, weights, states, hyperparams, not training, **given)
    return y


INPUTS = ("positions", "segments")


CASES = {
    "softmax_cross_entropy": (
        lambda n: loss.softmax_cross_entropy_with_integer_labels(LOGITS, n),
        BYTES,
    ),
    "softmax_cross_entropy ignores what no byte is": (
        lambda n: loss.softmax_cross_entropy_with_integer_labels(
            LOGITS, n, ignored_label=-1
        ),
        BYTES,
    ),
    "multiclass_hinge": (lambda n: loss.multiclass_hinge_loss(LOGITS, n), BYTES),
    "multiclass_perceptron": (
        lambda n: loss.multiclass_perceptron_loss(LOGITS, n),
        BYTES,
    ),
    "multiclass_sparsemax": (
        lambda n: loss.multiclass_sparsemax_loss(LOGITS, n),
        BYTES,
    ),
    "ctc, labels": (
        lambda n: loss.ctc_loss(LOGITS[None], n[None, :3], blank=SIZE - 1),
        BYTES[3:],
    ),
    "ctc, lengths of labels": (
        lambda n: loss.ctc_loss(FRAMES, jnp.asarray(SHORT), label_lengths=n),
        LENGTHS,
    ),
    "ctc, lengths of logits": (
        lambda n: loss.ctc_loss(FRAMES, jnp.asarray(SHORT[:, :9]), n),
        LENGTHS,
    ),
    "in_top_k": (lambda n: F.in_top_k(LOGITS, n, k=SIZE // 2), BYTES),
    "repetition_penalty": (
        lambda n: F.repetition_penalty(LOGITS, n[:, None], penalty=1.5),
        BYTES,
    ),
    "pair_counts": (
        lambda n: F.pair_counts(n, n[::-1], row_count=SIZE, column_count=SIZE),
        BYTES,
    ),
    "rotary_embedding": (
        lambda n: F.rotary_embedding(draw(2, (8, 2, 4), jnp.float32), n),
        BYTES,
    ),
    "attention_window": (
        lambda n: F.attention_window(n, n, keys_before=3, keys_after=1),
        np.arange(SIZE),
    ),
    "a causal window": (
        lambda n: F.attention_window(n, n, keys_after=0),
        np.arange(SIZE),
    ),
    "Embed": (lambda n: layer(nn.Embed, n, entries=SIZE, features=2), BYTES),
    "LearnedPositionalEmbedding": (
        lambda n: layer(
            nn.LearnedPositionalEmbedding,
            LOGITS[:, :2],
            length=SIZE,
            features=2,
            positions=n,
        ),
        BYTES,
    ),
    "segments": (
        lambda n: layer(
            nn.MultiHeadAttention,
            draw(3, (8, 4), jnp.float32),
            features=4,
            heads=2,
            causal=True,
            segments=n // 2,
        ),
        BYTES,
    ),
    "Accuracy": (lambda n: _result(metric.Accuracy(k=9), LOGITS, n), BYTES),
    "ConfusionMatrix": (
        lambda n: _result(metric.ConfusionMatrix(SIZE), n, n[::-1]),
        BYTES,
    ),
    "F1": (lambda n: _result(metric.F1(SIZE), n, n[::-1]), BYTES),
}


def _result(of: metric.Metric, *batch: Any) -> Any:
    return of.result(of.update(of.init(), *batch))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", sorted(CASES))
def test_every_dtype_means_the_same(name, dtype):
    function, numbers = CASES[name]
    numbers = np.minimum(numbers, np.iinfo(dtype).max)
    expected = function(jnp.asarray(numbers, jnp.int32))
    np.testing.assert_array_equal(function(jnp.asarray(numbers, dtype)), expected)


@pytest.mark.parametrize("name", sorted(CASES))
def test_who_lets_jax_mix_no_dtypes_may_have_any(name):
    function, numbers = CASES[name]
    expected = function(jnp.asarray(numbers, jnp.int32))
    with jax.numpy_dtype_promotion("strict"):
        for dtype in (jnp.int32, jnp.int64):
            result = function(jnp.asarray(numbers, dtype))
            assert result.dtype == expected.dtype or expected.dtype == jnp.int32
            np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_a_cache_counts_where_jax_mixes_no_dtypes():
    x = draw(3, (1, 6, 4), jnp.float32)
    sizes: dict[str, Any] = {"features": 4, "heads": 2, "max_length": 8, "batch": (1,)}
    attend = functools.partial(layer, nn.MultiHeadAttention, x, keys_before=3, **sizes)
    expected = attend()
    with jax.numpy_dtype_promotion("strict"):
        found = attend()
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5)
