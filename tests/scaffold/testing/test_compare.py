"""Comparing pytrees to the rounding of a dtype."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.testing.compare import assert_matches

f32 = functools.partial(np.array, dtype=np.float32)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": [np.float32(1)], "b": None}, {"a": [np.float32(1)], "b": None}),
        (f32([1, 1e-9]), f32([1 + 1e-6, 0])),
        (f32([np.nan, np.inf, -np.inf]), f32([np.nan, np.inf, -np.inf])),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)),
        (np.float32(0), np.float32(1e-39)),
        (np.array([1 + 1j], np.complex64), np.array([1 + 1.000001j], np.complex64)),
        (np.array([True]), np.array([True])),
    ],
)
def test_matches(expected, actual):
    assert_matches(expected, actual, jnp.float32)


@pytest.mark.parametrize(
    ("expected", "actual", "message"),
    [
        ({"a": 1.0}, {"b": 1.0}, "has the structure"),
        ([np.float32(1)], [np.float64(1)], r"y\[0\] is float64\[\], expected float32"),
        (
            np.ones((2,), int),
            np.ones((2, 1), int),
            r"int64\[2,1\], expected int64\[2\]",
        ),
        (
            f32([1, 2]),
            f32([1, 2.001]),
            r"at 1 of 2 places, most at \[1\]",
        ),
        (f32([1, np.nan]), f32([1, 1]), r"\[1\]: 1.0 instead of nan"),
        (f32([1, 1]), f32([1, np.nan]), r"\[1\]: nan instead of 1.0"),
        (f32([1, np.inf]), f32([1, -np.inf]), "-inf instead of inf"),
        (f32([1, 1]), f32([1, np.inf]), "inf instead of 1.0"),
        (np.array([3, 4]), np.array([3, 5]), "5 instead of 4; allowed are 0"),
        (np.array([True]), np.array([False]), "False instead of True"),
    ],
)
def test_differs(expected, actual, message):
    with pytest.raises(AssertionError, match=message):
        assert_matches(expected, actual, jnp.float32, what="y")


def test_tolerance_is_in_ulps_of_the_largest_value():
    expected = jnp.asarray([256.0, 1.0], jnp.bfloat16)
    actual = jnp.asarray([256.0, 3.0], jnp.bfloat16)
    assert_matches(expected, actual, jnp.bfloat16, ulps=1)
    with pytest.raises(AssertionError, match=r"allowed are 1 \(0.5 ulps of bfloat16\)"):
        assert_matches(expected, actual, jnp.bfloat16, ulps=0.5)


def test_keys_are_compared():
    keys = jax.random.split(jax.random.key(0))
    assert_matches(keys, keys, jnp.float32)
    with pytest.raises(AssertionError, match="differs"):
        assert_matches(keys, keys[::-1], jnp.float32)
