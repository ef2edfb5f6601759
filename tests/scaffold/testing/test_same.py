"""Results that are the same value for all arguments, seen without compiling."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

from mlax_scaffold.testing._same import output_numbers
from mlax_scaffold.testing.compare import assert_same_results, program_unless_same

X = jnp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@jax.custom_jvp
def doubled(x):
    return x * 2.0


doubled.defjvp(lambda primals, tangents: (doubled(*primals), tangents[0] * 2.0))


def scanned(x, factor=2.0, reverse=False):
    def body(carry, row):
        carry = carry * factor + row
        return carry, jnp.sin(carry)

    return lax.scan(body, jnp.zeros_like(x[0]), x, reverse=reverse)


def chosen(x, limit=0.0):
    return lax.cond(x[0, 0] > limit, jnp.sin, jnp.cos, x)


def drawn(x, seed=0):
    return x * jax.random.bernoulli(jax.random.key(seed), 0.5, x.shape)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: (x + 1.0, x * 2.0), lambda x: (x * 2.0, x + 1.0)[::-1]),
        (jnp.sin, jax.jit(jnp.sin)),
        (lambda x: jnp.sin(x) + jnp.sin(x), lambda x: (y := jnp.sin(x)) + y),
        (lambda x: x * 2.0, doubled),
        (jnp.sin, jax.checkpoint(jnp.sin)),
        (scanned, scanned),
        (chosen, chosen),
        (drawn, drawn),
        (lambda x: x + np.eye(2, 3), lambda x: x + np.eye(2, 3)),
        (jax.nn.softmax, jax.nn.softmax),
        (lambda x: jax.image.resize(x, (4, 6), "linear"),) * 2,
    ],
)
def test_the_same_operations_are_the_same_value(one, other):
    assert program_unless_same(lambda x: (one(x), other(x)), X, what="y") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: x + 1.0, lambda x: x + 1.001),
        (lambda x: x * 0.0, lambda x: x * -0.0),
        (lambda x: x - X[0], lambda x: X[0] - x),
        (lambda x: jnp.sum(x, 0), lambda x: jnp.max(x, 0)),
        (
            jnp.sin,
            lambda x: jnp.sin(x.astype("float16")).astype("float32"),
        ),
        (lambda x: x + np.eye(2, 3), lambda x: x + np.ones((2, 3))),
        (scanned, lambda x: scanned(x, 3.0)),
        (scanned, lambda x: scanned(x, reverse=True)),
        (chosen, lambda x: chosen(x, 2.0)),
        (drawn, lambda x: drawn(x, 1)),
        (lambda x: lax.top_k(x, 2)[0], lambda x: lax.top_k(x, 3)[0][:, 1:]),
        (
            lambda x: lax.dot(x, x.T, precision=None),
            lambda x: lax.dot(x, x.T, precision="highest"),
        ),
        (
            lambda x: io_callback(np.sin, x, x),
            lambda x: io_callback(np.sin, x, x),
        ),
    ],
)
def test_other_operations_are_not_known_to_be(one, other):
    assert program_unless_same(lambda x: (one(x), other(x)), X, what="y") is not None


def test_results_of_one_operation_have_numbers_of_their_own():
    traced = jax.make_jaxpr(lambda x: lax.top_k(x, 2))(X)
    first, second = output_numbers(traced)
    assert first != second


def test_inputs_are_not_the_same():
    assert program_unless_same(lambda x, y: (x, y), X, X, what="y") is not None


def test_what_cannot_be_seen_is_compared():
    def pair(x):
        return jnp.log(x * x), 2.0 * jnp.log(x)

    assert program_unless_same(pair, X, what="y") is not None
    assert_same_results(pair, X, dtype=jnp.float32)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (lambda x: (x, x * 1.001), r"y differs at 6 of 6 places"),
        (
            lambda x: (x, x.astype(jnp.float16)),
            r"y is float16\[2,3\], expected float32",
        ),
        (lambda x: ((x,), [x]), "has the structure"),
    ],
)
def test_differences_are_found(pair, message):
    with pytest.raises(AssertionError, match=message):
        assert_same_results(pair, X, dtype=jnp.float32, what="y")
