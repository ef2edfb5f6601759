"""What has no half precision is computed in float32, and comes back in its dtype."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_arrays import draw, numpy

from mlax import metric, nn, train
from mlax._core.precision import widened

HALF = ["float16", "bfloat16"]


@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_is_computed_in_float32(dtype):
    x, b = draw(0, (3, 3), dtype), draw(1, (3,), dtype)
    y = widened(jnp.linalg.solve)(x, b)
    assert y.dtype == dtype
    expected = np.linalg.solve(numpy(x), numpy(b))
    error = np.max(np.abs(numpy(y) - expected)) / np.max(np.abs(expected))
    assert error < 2 * float(jnp.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", HALF)
def test_trees_and_options_are_kept(dtype):
    x = draw(0, (4, 3), dtype)
    y = widened(jnp.linalg.svd)(x, full_matrices=False)
    assert type(y) is type(jnp.linalg.svd(jnp.eye(2)))
    assert [part.dtype for part in y] == [dtype] * 3
    rank = jnp.asarray(widened(jnp.linalg.matrix_rank)(x))
    assert int(rank) == 3
    assert jnp.issubdtype(rank.dtype, jnp.integer)


@pytest.mark.parametrize("dtype", HALF)
def test_gradients_have_the_dtype_of_the_input(dtype):
    def loss(x):
        return jnp.max(widened(jnp.linalg.inv)(x))

    assert jax.grad(loss)(draw(0, (3, 3), dtype)).dtype == dtype


def test_others_are_computed_as_they_are():
    program = jax.make_jaxpr(widened(jnp.linalg.inv))(jnp.eye(3))
    assert str(program) == str(jax.make_jaxpr(jnp.linalg.inv)(jnp.eye(3)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_where_jax_is_to_mix_no_dtypes_half_precision_is_widened_all_the_same(dtype):
    """Sums and running averages are in float32, which nobody had to promote to."""
    with jax.numpy_dtype_promotion("strict"):
        _, state, _ = nn.BatchNorm.init(jax.random.key(0), 3, dtype=dtype)
        scores = jnp.asarray([0.1, 0.7, 0.4, 0.9], dtype)
        area = metric.area_under_roc(scores, jnp.array([0, 1, 0, 1]))
        measured = train.evaluate(lambda batch: {"score": batch}, [scores])
    assert {leaf.dtype for leaf in jax.tree.leaves(state)} == {jnp.dtype("float32")}
    assert area == 1
    np.testing.assert_allclose(measured["score"], np.mean(numpy(scores)), rtol=1e-6)
