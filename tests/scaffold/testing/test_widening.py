"""The expressions of a function in which 16-bit numbers become wider."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from mlax_scaffold.testing.widening import widenings


def told(x):
    jax.debug.print("{}", x)
    return x * jnp.ones(3, jnp.float32)


def test_what_makes_nothing_widens_nothing():
    """A callback stands before the product that does."""
    traced = jax.make_jaxpr(told)(jnp.ones(3, jnp.bfloat16))
    found = widenings(traced.jaxpr, {__file__}, jnp.bfloat16)
    assert {each.line for each in found} == {told.__code__.co_firstlineno + 2}


def by_index(x, indices):
    return x.at[indices].add(x)


FOUND = {
    # What is computed, in which dtype the inputs are, and what is found: which operand, or what it is.
    "the wider operand": (lambda x, i: x * jnp.arange(3.0), jnp.float16, 1),
    "in a product": (lambda x, i: x @ jnp.arange(3.0), jnp.float16, 1),
    "integers among numbers": (lambda x, i: 2.0**i - 1.0, jnp.float16, 1),
    "an array of numbers": (lambda x, i: x * jnp.full((3,), 0.5), jnp.float16, "array"),
    "an array of a number that jax computes": (
        lambda x, i: x * jnp.full((3,), jnp.log(0.5)),
        jnp.float16,
        "array",
    ),
    "a sum at indices": (by_index, jnp.float16, "sum"),
    "a sum of rows": (lambda x, i: lax.reduce_sum(x, (0,)), jnp.bfloat16, "sum"),
    "complex numbers": (
        lambda x, i: x * jnp.ones(3, jnp.complex64),
        jnp.float64,
        "operand",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_has_another_dtype(name: str):
    function, dtype, expected = FOUND[name]
    with jax.enable_x64(dtype == jnp.float64):
        given = jnp.ones(3, dtype), jnp.arange(3, dtype=jnp.int32)
        traced = jax.make_jaxpr(function)(*given)
        found = next(widenings(traced.jaxpr, {__file__}, dtype))
    assert (found.what if found.wide is None else found.wide) == expected


def test_the_other_operand_may_have_the_dtype():
    traced = jax.make_jaxpr(lambda x: (x * jnp.arange(3.0), jnp.arange(3.0) * 2.0))
    given = jnp.ones(3, jnp.float16)
    found = widenings(traced(given).jaxpr, {__file__}, jnp.float16)
    assert [each.meets for each in found][::2] == [True, False]
