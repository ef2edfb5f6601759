"""Averages of any tree, against optax and NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mlax import train

DRAWS = np.random.default_rng(0).normal(size=(6, 4, 3)).astype(np.float32)


def averaged(decay: float | None, dtype: Any = jnp.float32) -> Any:
    average = train.MovingAverage.of({"w": jnp.asarray(DRAWS[0], dtype)}, decay)
    traced = []
    update: Any = jax.jit(
        lambda average, tree: traced.append(tree) or average.update(tree)
    )
    for draw in DRAWS[1:]:
        average = update(average, {"w": jnp.asarray(draw, dtype)})
    assert len(traced) == 1
    return average


def test_it_is_the_moving_average_of_optax():
    expected: Any = {"w": jnp.asarray(DRAWS[0])}
    for draw in DRAWS[1:]:
        expected = optax.incremental_update({"w": draw}, expected, 1 - 0.9)
    np.testing.assert_allclose(averaged(0.9).mean["w"], expected["w"], rtol=1e-6)


def test_without_a_decay_it_is_the_mean():
    average = averaged(None)
    assert average.count == 6
    np.testing.assert_allclose(average.mean["w"], DRAWS.mean(0), rtol=1e-5, atol=1e-6)


def test_numbers_of_16_bits_are_averaged_in_float32():
    average = averaged(0.999, jnp.bfloat16)
    assert average.mean["w"].dtype == jnp.float32
    draws = np.asarray(jnp.asarray(DRAWS, jnp.bfloat16), np.float64)
    expected = draws[0]
    for draw in draws[1:]:
        expected = 0.999 * expected + 0.001 * draw
    np.testing.assert_allclose(average.mean["w"], expected, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(average.mean["w"], draws[0])
    like = average.like({"w": jnp.zeros((4, 3), jnp.bfloat16)})
    assert like["w"].dtype == jnp.bfloat16


def test_what_is_no_number_is_that_of_the_last_tree():
    tree = {"count": jnp.int32(1), "key": jax.random.key(0), "w": jnp.zeros(2)}
    new = {"count": jnp.int32(7), "key": jax.random.key(3), "w": jnp.ones(2)}
    average = train.MovingAverage.of(tree, 0.75).update(new)
    assert average.mean["count"] == 7
    assert average.mean["key"] == jax.random.key(3)
    assert average.like(new)["count"] == 7
    np.testing.assert_array_equal(average.mean["w"], np.full(2, 0.25))


def test_the_first_tree_can_be_donated():
    tree = {"w": jnp.ones(3)}
    average = train.MovingAverage.of(tree)
    tree["w"].delete()
    np.testing.assert_array_equal(average.mean["w"], np.ones(3))


def test_another_tree_and_another_decay():
    average = train.MovingAverage.of({"w": jnp.ones(3)})
    with pytest.raises(ValueError, match="must have the structure of the first one"):
        average.update({"v": jnp.ones(3)})
    with pytest.raises(ValueError, match="MovingAverage: decay must be"):
        train.MovingAverage.of({"w": jnp.ones(3)}, 1.5)
