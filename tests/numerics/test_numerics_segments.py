"""Sums of segments: as jax adds them in 32 bits, and in pairs in 16."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax._core.sums import add_at, segment_sum
from mlax_scaffold.testing.sums import narrow_sums

HALF = [jnp.float16, jnp.bfloat16]
summed_by = jax.jit(segment_sum, static_argnums=2)


def drawn(rows: int, segments: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    ids = generator.integers(0, segments, rows)
    return generator.uniform(0.5, 1.5, (rows, 3)), ids


@pytest.mark.parametrize("dtype", [*HALF, jnp.float32, jnp.int32])
def test_equals_jax(dtype):
    data, ids = drawn(20, 4)
    given = data.astype(dtype)
    expected = jax.ops.segment_sum(given.astype(np.float32), ids, 4)
    summed = summed_by(given, ids, 4)
    assert summed.dtype == dtype
    np.testing.assert_allclose(
        np.asarray(summed, np.float64), np.asarray(expected, np.float64), rtol=0.02
    )


@pytest.mark.parametrize("dtype", HALF)
def test_the_error_does_not_grow_with_the_rows(dtype):
    data, ids = drawn(3000, 3)
    given = data.astype(dtype)
    exact = np.zeros((3, 3))
    np.add.at(exact, ids, given.astype(np.float64))
    summed = np.asarray(summed_by(given, ids, 3), np.float64)
    eps = float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(summed, exact, rtol=4 * eps)
    assert not narrow_sums(
        jax.make_jaxpr(lambda d, i: segment_sum(d, i, 3))(given, jnp.asarray(ids))
    )


@pytest.mark.parametrize("dtype", [*HALF, jnp.float32])
def test_rows_of_no_segment_are_left_out(dtype):
    data = np.ones((5, 2), dtype)
    ids = np.asarray([0, -1, 2, 3, 7])
    expected = np.asarray([[1, 1], [0, 0], [1, 1]])
    np.testing.assert_array_equal(summed_by(data, ids, 3), expected)


@pytest.mark.parametrize("dtype", [*HALF, jnp.float32])
def test_the_gradient_is_that_of_the_segment(dtype):
    data, ids = drawn(12, 4)
    weights = np.arange(12.0).reshape(4, 3).astype(dtype)

    def loss(data: jax.Array) -> jax.Array:
        return jnp.vdot(segment_sum(data, jnp.asarray(ids), 4), weights)

    gradient = jax.jit(jax.grad(loss))(data.astype(dtype))
    assert gradient.dtype == dtype
    np.testing.assert_array_equal(gradient, weights[ids])


def test_is_mapped_and_compiled():
    data, ids = drawn(12, 4)
    given = np.stack([data] * 2).astype(jnp.bfloat16)
    run = jax.jit(jax.vmap(lambda d: segment_sum(d, jnp.asarray(ids), 4)))
    alone = summed_by(given[0], ids, 4)
    np.testing.assert_array_equal(run(given)[1], alone)


INDICES = {
    "one": 2,
    "several": np.asarray([0, 2, 2, -1, 9, -7]),
    "bytes": np.asarray([0, 2, -1], np.int8),
    "of two axes": (np.asarray([[0], [3]]), np.asarray([0, 2, 2])),
    "of an axis and a number": (np.asarray([1, 1, 3]), -1),
}


@pytest.mark.parametrize("dtype", [*HALF, jnp.float32])
@pytest.mark.parametrize("indices", INDICES.values(), ids=list(INDICES))
def test_adding_at_indices_is_what_jax_does(indices, dtype):
    x = np.random.default_rng(0).normal(size=(4, 3, 2)).astype(dtype)
    shape = jax.eval_shape(lambda x: x.at[indices].get(), x).shape

    @jax.jit
    def both(x, values):
        return add_at(x, indices, values), x.at[indices].add(values)

    for values in (1.5, np.ones(2, dtype), np.full(shape, 0.25, dtype)):
        added, expected = both(x, values)
        assert added.dtype == dtype
        # Sums of at most three numbers, in another order.
        eps = float(jnp.finfo(dtype).eps)
        wide = [np.asarray(y, np.float64) for y in (added, expected)]
        np.testing.assert_allclose(*wide, rtol=0, atol=4 * eps)


@pytest.mark.parametrize("dtype", HALF)
def test_the_error_of_adding_at_indices_does_not_grow_where_it_is_mapped(dtype):
    values, ids = np.ones((2, 600), dtype), np.zeros((2, 600), np.int32)

    def added(values, ids):
        x = jnp.zeros((2, 3), dtype)
        return jax.vmap(add_at)(x, ids, values)

    summed = np.asarray(jax.jit(added)(values, ids))
    np.testing.assert_array_equal(summed[:, 0], [600, 600])

    def gradient(values, ids):
        return jax.vjp(lambda v: added(v, ids), values)[1](jnp.ones((2, 3), dtype))

    for program in (added, gradient):
        assert not narrow_sums(jax.make_jaxpr(program)(values, ids))
    [slopes] = jax.jit(gradient)(values, ids)
    np.testing.assert_array_equal(slopes, np.ones((2, 600)))


def test_what_is_mapped_adds_to_places_of_its_own():
    x, values = jnp.zeros((3, 4), jnp.float16), jnp.ones(3, jnp.float16)
    places = jnp.zeros(3, jnp.int32)

    def added(x, i, v):
        return x.at[i].add(v)

    assert not narrow_sums(jax.make_jaxpr(jax.vmap(added))(x, places, values))
    several = jnp.zeros((3, 2), jnp.int32)
    assert narrow_sums(jax.make_jaxpr(jax.vmap(added))(x, several, values))
