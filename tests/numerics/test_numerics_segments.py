"""Sums of segments: as jax adds them in 32 bits, and in pairs in 16."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax._core.sums import segment_sum
from mlax_scaffold.testing.sums import narrow_sums

HALF = [jnp.float16, jnp.bfloat16]


def drawn(rows: int, segments: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    ids = generator.integers(0, segments, rows)
    return generator.uniform(0.5, 1.5, (rows, 3)), ids


@pytest.mark.parametrize("dtype", [*HALF, jnp.float32, jnp.int32])
def test_equals_jax(dtype):
    data, ids = drawn(20, 4)
    given = jnp.asarray(data).astype(dtype)
    expected = jax.ops.segment_sum(given.astype(jnp.float32), ids, 4)
    summed = segment_sum(given, jnp.asarray(ids), 4)
    assert summed.dtype == dtype
    np.testing.assert_allclose(
        np.asarray(summed, np.float64), np.asarray(expected, np.float64), rtol=0.02
    )


@pytest.mark.parametrize("dtype", HALF)
def test_the_error_does_not_grow_with_the_rows(dtype):
    data, ids = drawn(3000, 3)
    given = jnp.asarray(data).astype(dtype)
    exact = np.zeros((3, 3))
    np.add.at(exact, ids, np.asarray(given, np.float64))
    summed = np.asarray(segment_sum(given, jnp.asarray(ids), 3), np.float64)
    eps = float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(summed, exact, rtol=4 * eps)
    assert not narrow_sums(
        jax.make_jaxpr(lambda d, i: segment_sum(d, i, 3))(given, jnp.asarray(ids))
    )


@pytest.mark.parametrize("dtype", [*HALF, jnp.float32])
def test_rows_of_no_segment_are_left_out(dtype):
    data = jnp.ones((5, 2), dtype)
    ids = jnp.asarray([0, -1, 2, 3, 7])
    expected = [[1, 1], [0, 0], [1, 1]]
    np.testing.assert_array_equal(segment_sum(data, ids, 3), jnp.asarray(expected))


@pytest.mark.parametrize("dtype", [*HALF, jnp.float32])
def test_the_gradient_is_that_of_the_segment(dtype):
    data, ids = drawn(12, 4)
    weights = jnp.arange(12.0).reshape(4, 3).astype(dtype)

    def loss(data: jax.Array) -> jax.Array:
        return jnp.vdot(segment_sum(data, jnp.asarray(ids), 4), weights)

    gradient = jax.grad(loss)(jnp.asarray(data).astype(dtype))
    assert gradient.dtype == dtype
    np.testing.assert_array_equal(gradient, weights[ids])


def test_is_mapped_and_compiled():
    data, ids = drawn(12, 4)
    given = jnp.stack([jnp.asarray(data)] * 2).astype(jnp.bfloat16)
    run = jax.jit(jax.vmap(lambda d: segment_sum(d, jnp.asarray(ids), 4)))
    alone = segment_sum(given[0], jnp.asarray(ids), 4)
    np.testing.assert_array_equal(run(given)[1], alone)
