"""Which sums of a program add 16-bit numbers one after another."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from mlax_scaffold.testing.sums import narrow_sums

HALF = jax.ShapeDtypeStruct((3, 3), jnp.float16)


def added(x):
    return lax.reduce_sum(x, (0,))


def test_a_diagonal_is_no_sum():
    assert narrow_sums(jax.make_jaxpr(jnp.diag)(HALF)) == []


@pytest.mark.parametrize(
    "function",
    [
        added,
        lambda x: lax.platform_dependent(x, cpu=added, default=jnp.diag),
        lambda x: lax.platform_dependent(x, mosaic=jnp.diag, default=added),
    ],
    ids=["everywhere", "on one platform", "on the others"],
)
def test_a_sum_of_a_platform_is_one(function):
    assert len(narrow_sums(jax.make_jaxpr(function)(HALF))) == 1


def test_a_sum_that_differentiation_writes_may_be_none():
    def pulled(x):
        y, pull = jax.vjp(lambda x: x[:, None] - jnp.arange(2, dtype=x.dtype), x)
        return pull(y)

    traced = jax.make_jaxpr(pulled)(jax.ShapeDtypeStruct((3,), jnp.float16))
    assert narrow_sums(traced)
    assert not narrow_sums(traced, gradients=False)
