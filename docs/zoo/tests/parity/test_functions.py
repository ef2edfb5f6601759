"""Functions compute what their papers say, in float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made import assert_same, drawn
from mlax_scaffold.testing.audit import assert_dtypes
from mlax_scaffold.testing.dtypes import x64

from references.soft_dtw import soft_dtw
from references.sparsemax import sparsemax
from zoo import functional


@pytest.mark.parametrize("gamma", [1.0, 0.1])
def test_soft_dtw(gamma):
    x, y = drawn(5, 2), drawn(4, 2)
    with x64():
        given = jnp.asarray(x), jnp.asarray(y)
        found = np.asarray(functional.soft_dtw(*given, gamma=gamma))
    assert_same(found, np.asarray(soft_dtw(x, y, gamma)), 1e-6)


@pytest.mark.parametrize("axis", [-1, 0])
def test_sparsemax(axis):
    logits = 2 * drawn(4, 5)
    with x64():
        found = np.asarray(functional.sparsemax(jnp.asarray(logits), axis=axis))
    expected = np.moveaxis(sparsemax(np.moveaxis(logits, axis, -1)), -1, axis)
    assert_same(found, expected)


def test_sparsemax_of_sixteen_bits():
    x = jax.ShapeDtypeStruct((3, 200), jnp.bfloat16)
    program = jax.make_jaxpr(functional.sparsemax)(x)
    assert_dtypes(program, (jnp.bfloat16,), what="sparsemax")
    [y] = program.out_avals
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
