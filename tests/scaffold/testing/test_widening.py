"""The expressions of a function in which 16-bit numbers become wider."""

import jax
import jax.numpy as jnp

from mlax_scaffold.testing.widening import widenings


def told(x):
    jax.debug.print("{}", x)
    return x * jnp.ones(3, jnp.float32)


def test_what_makes_nothing_widens_nothing():
    """A callback stands before the product that does."""
    traced = jax.make_jaxpr(told)(jnp.ones(3, jnp.bfloat16))
    found = widenings(traced.jaxpr, {__file__}, "told")
    assert {each.line for each in found} == {told.__code__.co_firstlineno + 2}
