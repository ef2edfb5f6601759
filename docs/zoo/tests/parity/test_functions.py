"""Functions compute what their papers say, in float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made import assert_same, drawn
from mlax_scaffold.testing.audit import assert_dtypes
from mlax_scaffold.testing.dtypes import x64

from references.sparsemax import sparsemax
from zoo import functional


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
