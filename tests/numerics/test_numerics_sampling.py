"""What tokens are drawn from: beside NumPy, and by how often each is drawn."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax import functional, generation

_LOGITS = np.random.default_rng(3).normal(size=(6, 9)) * 2.0
_DTYPES = ("float16", "bfloat16", "float32", "float64")


def _softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


@pytest.mark.parametrize("k", [1, 4, 9, 20])
def test_as_many_logits_stay(k):
    actual = np.asarray(functional.top_k_logits(jnp.asarray(_LOGITS), k=k))
    order = np.argsort(-_LOGITS, axis=-1)[:, :k]
    expected = np.full_like(_LOGITS, -np.inf)
    np.put_along_axis(expected, order, np.take_along_axis(_LOGITS, order, -1), -1)
    np.testing.assert_array_equal(actual, expected)


def _nucleus(row, p):
    """Classes one after another, from the most probable one, until they have p."""
    shares, kept, total = _softmax(row), [], 0.0
    for place in np.argsort(-row):
        if kept and total >= p:
            break
        kept.append(place)
        total += shares[place]
    return sorted(kept)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.8, 0.95, 1.0])
def test_the_most_probable_classes_stay(p):
    actual = np.asarray(functional.top_p_logits(jnp.asarray(_LOGITS), p=p))
    for row, given in zip(actual, _LOGITS, strict=True):
        kept = list(np.flatnonzero(np.isfinite(row)))
        assert kept == _nucleus(given, p)
        np.testing.assert_array_equal(row[kept], given[kept])


@pytest.mark.parametrize("p", [0.0, 0.05, 0.5, 1.0])
def test_classes_that_are_too_improbable_go(p):
    actual = np.asarray(functional.min_p_logits(jnp.asarray(_LOGITS), p=p))
    shares = _softmax(_LOGITS)
    kept = shares >= p * shares.max(-1, keepdims=True) * (1 - 1e-12)
    np.testing.assert_array_equal(np.isfinite(actual), kept)


def test_what_was_there_is_less_probable():
    logits = jnp.asarray([[2.0, -2.0, 1.0, 0.0]])
    tokens = jnp.asarray([[0, 1, 1]])
    actual = functional.repetition_penalty(logits, tokens, penalty=2.0)
    np.testing.assert_array_equal(actual, [[1.0, -4.0, 1.0, 0.0]])


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("temperature", [0.02, 1.0, 3.0])
def test_classes_are_drawn_as_often_as_they_are_probable(dtype, temperature):
    logits = jnp.asarray(_LOGITS[0]).astype(dtype)
    count = 200_000
    drawn = functional.categorical(
        jnp.broadcast_to(logits, (count, 9)),
        jax.random.key(1),
        temperature=temperature,
    )
    frequencies = np.bincount(np.asarray(drawn), minlength=9) / count
    expected = _softmax(np.asarray(logits, "float64") / temperature)
    deviation = np.sqrt(expected * (1 - expected) / count)
    # Of shares that are rounded to the dtype.
    rounded = 4 * float(jnp.finfo(dtype).eps) * expected
    assert np.all(np.abs(frequencies - expected) <= 5 * deviation + rounded + 1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rare_classes_are_drawn_in_half_precision(dtype):
    # One of 20,000 equal classes: noise of 8 bits draws from the first ones alone.
    logits = jnp.zeros((1_000, 20_000), dtype)
    drawn = np.asarray(jax.jit(functional.categorical)(logits, jax.random.key(2)))
    assert abs(drawn.mean() / 10_000 - 1.0) < 0.1
    assert len(np.unique(drawn)) > 950


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("temperature", [1e-3, 1e-4, 1e-30, 1e-320])
def test_a_low_temperature_takes_the_largest(dtype, temperature):
    logits = jnp.asarray([[1.0, 20.0, 30.0, -jnp.inf], [-3e4, -6e4, -5e4, -4e4]], dtype)
    keys = jax.random.split(jax.random.key(5), 20)
    draw = functools.partial(functional.categorical, logits, temperature=temperature)
    assert (jax.vmap(draw)(keys) == jnp.asarray([2, 0])).all()
    for sampler in (
        generation.Sampler(temperature),
        generation.Sampler(temperature, top_k=2),
        generation.Sampler(temperature, top_p=0.9),
        generation.Sampler(temperature, min_p=0.1),
    ):
        drawn = jax.vmap(lambda key, s=sampler: s(logits, key, logits))(keys)
        assert (drawn == jnp.asarray([2, 0])).all()


def test_a_draw_without_a_key_is_told_so():
    no_key: Any = None
    with pytest.raises(
        ValueError, match="a key is needed, unless the temperature is 0"
    ):
        functional.categorical(jnp.asarray(_LOGITS), no_key)
    with pytest.raises(
        ValueError, match="a key is needed, unless the temperature is 0"
    ):
        generation.Sampler()(jnp.asarray(_LOGITS), no_key, jnp.asarray(_LOGITS))


def test_without_temperature_the_largest_is_taken_and_no_key_asked_for():
    no_key: Any = None
    drawn = functional.categorical(jnp.asarray(_LOGITS), no_key, temperature=0.0)
    np.testing.assert_array_equal(drawn, _LOGITS.argmax(-1))


def test_classes_of_minus_infinity_are_never_drawn():
    logits = functional.top_k_logits(jnp.asarray(_LOGITS[:1]), k=2)
    drawn = functional.categorical(
        jnp.broadcast_to(logits, (1000, 9)), jax.random.key(4), temperature=5.0
    )
    assert set(np.asarray(drawn)) == set(np.argsort(-_LOGITS[0])[:2])
