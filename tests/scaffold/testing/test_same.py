"""Results that are the same value for all arguments, seen without compiling."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

from mlax_scaffold.testing.programs import (
    Program,
    assert_same_programs,
    same_operations,
)

X = jnp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def same(one, other, *args):
    args = args or (X,)
    return same_operations(Program.of(one, *args), Program.of(other, *args))


def compare(one, other):
    programs = Program.of(one, X), Program.of(other, X)
    assert_same_programs(*programs, lambda: [X], jnp.float32, what="y")


@jax.custom_jvp
def doubled(x):
    return x * 2.0


doubled.defjvp(lambda primals, tangents: (doubled(*primals), tangents[0] * 2.0))


def scanned(x, factor=2.0, reverse=False):
    def body(carry, row):
        carry = carry * factor + row
        return carry, jnp.sin(carry)

    return lax.scan(body, jnp.zeros_like(x[0]), x, reverse=reverse)


def captured(x, first):
    """What the steps use is captured in one order or the other."""
    one, other = jnp.sin(x[0]), jnp.cos(x[0])

    def body(carry, row):
        values = (one * row, other + carry) if first else (other + carry, one * row)
        return values[first] * values[1 - first], row

    return lax.scan(body, jnp.zeros_like(x[0]), x)


def carried(x, first=0, change=0.0):
    """Carries that begin alike stand in one order or the other."""

    def body(carry, row):
        one, other = carry[first], carry[1 - first]
        new = one + jnp.sin(other) * row, other + jnp.cos(one) * (row + change)
        return (new[first], new[1 - first]), new[0] * new[1]

    zeros = jnp.zeros_like(x[0])
    last, each = lax.scan(body, (zeros, zeros), x)
    return last[first], each


def nested(x, swap=False):
    """The inner loop uses what the outer one carries."""

    def body(carry, row):
        used = row if swap else carry

        def inner(total, number):
            return total + number * used, total

        return lax.scan(inner, jnp.zeros_like(row), x)[0] + carry, row

    return lax.scan(body, jnp.zeros_like(x[0]), x)


def chosen(x, limit=0.0):
    return lax.cond(x[0, 0] > limit, jnp.sin, jnp.cos, x)


def chosen_of_a_number(x, inside=False, number=0.75):
    """A branch closes over a number that is cast before it, or in it."""
    made = jnp.float32(number) if inside else jnp.float32(number).astype(jnp.float16)
    half = x.astype(jnp.float16) if inside else x

    def branch(y):
        used = made.astype(jnp.float16) if inside else made
        return y * used + (half if inside else half.astype(jnp.float16)).astype(y.dtype)

    return lax.cond(x[0, 0] > 0, branch, jnp.sin, x)


def drawn(x, seed=0):
    return x * jax.random.bernoulli(jax.random.key(seed), 0.5, x.shape)


def until(x, least=3.0, add=1.0, inside=False, swap=False):
    outside = X[0].astype("float16")

    def test(carry):
        return carry[swap] < least

    def body(carry):
        one, row = carry[::-1] if swap else carry
        more = row + add * (X[0].astype("float16") if inside else outside)
        return (more, one + 1.0) if swap else (one + 1.0, more)

    start = (x[0].astype("float16"), 0.0) if swap else (0.0, x[0].astype("float16"))
    return lax.while_loop(test, body, start)[:: -1 if swap else 1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (until, lambda x: until(x, inside=True)),
        (until, lambda x: until(x, swap=True)),
        (lambda x: (x + 1.0, x * 2.0), lambda x: (x * 2.0, x + 1.0)[::-1]),
        (jnp.sin, jax.jit(jnp.sin)),
        (lambda x: jnp.sin(x) + jnp.sin(x), lambda x: (y := jnp.sin(x)) + y),
        (lambda x: x * 2.0, doubled),
        (jnp.sin, jax.checkpoint(jnp.sin)),
        (scanned, scanned),
        (lambda x: captured(x, 0), lambda x: captured(x, 1)),
        (carried, lambda x: carried(x, 1)),
        (nested, nested),
        (chosen, chosen),
        (chosen_of_a_number, lambda x: chosen_of_a_number(x, inside=True)),
        (drawn, drawn),
        (lambda x: x + np.eye(2, 3), lambda x: x + np.eye(2, 3)),
        (jax.nn.softmax, jax.nn.softmax),
        (lambda x: 2 * x + jnp.sin(x), lambda x: jnp.sin(x) + x * 2),
        (lambda x: lax.convert_element_type(x, "float32"), lambda x: x),
        (lambda x: lax.transpose(x, (0, 1)), lambda x: x),
        (lambda x: jax.image.resize(x, (4, 6), "linear"),) * 2,
    ],
)
def test_the_same_operations_are_the_same_value(one, other):
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: x + 1.0, lambda x: x + 1.001),
        (lambda x: x * 0.0, lambda x: x * -0.0),
        (lambda x: x - X[0], lambda x: X[0] - x),
        (lambda x: x[:, :2] @ x[:, :2], lambda x: x[:, :2].T @ x[:, :2]),
        (lambda x: jnp.sum(x, 0), lambda x: jnp.max(x, 0)),
        (
            jnp.sin,
            lambda x: jnp.sin(x.astype("float16")).astype("float32"),
        ),
        (lambda x: x + np.eye(2, 3), lambda x: x + np.ones((2, 3))),
        (until, lambda x: until(x, least=4.0)),
        (until, lambda x: until(x, add=2.0)),
        (until, lambda x: until(x)[::-1]),
        (scanned, lambda x: scanned(x, 3.0)),
        (scanned, lambda x: scanned(x, reverse=True)),
        (nested, lambda x: nested(x, swap=True)),
        (carried, lambda x: carried(x, change=1.0)),
        (carried, lambda x: carried(x, 1)[::-1]),
        (chosen, lambda x: chosen(x, 2.0)),
        (chosen_of_a_number, lambda x: chosen_of_a_number(x, number=0.5)),
        (lambda x: lax.cond(x[0, 0] > 0, jnp.cos, jnp.sin, x), chosen),
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
    assert not same(one, other)


def test_results_of_one_operation_have_numbers_of_their_own():
    def halves(x):
        return lax.split(x, (1, 1, 1), axis=1)[:2]

    assert same(halves, halves)
    assert not same(halves, lambda x: halves(x)[::-1])


@pytest.mark.filterwarnings("error:overflow")
def test_numbers_beyond_float16_are_no_news():
    def far(x):
        return jnp.where(x > 0, x, -1e9)

    assert same(far, far, X.astype(jnp.float16))


def test_inputs_are_not_the_same():
    assert not same(lambda x, y: x, lambda x, y: y, X, X)


def called_back(x):
    return jax.pure_callback(lambda x: x, x, x, vmap_method="sequential")


def test_what_cannot_be_seen_is_compared():
    def one(x):
        return jnp.log(called_back(x * x))

    def other(x):
        return 2.0 * jnp.log(called_back(x))

    assert not same(one, other)
    compare(one, other)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (lambda x: (called_back(x), x * 1.001), r"y differs at 6 of 6 places"),
        (
            lambda x: (x, x.astype(jnp.float16)),
            r"y is float16\[2,3\], expected float32",
        ),
        (lambda x: ((x,), [x]), "has the structure"),
    ],
)
def test_differences_are_found(pair, message):
    with pytest.raises(AssertionError, match=message):
        compare(lambda x: pair(x)[0], lambda x: pair(x)[1])


def checkpointed(x, **how):
    return jax.checkpoint(lambda x: jnp.sin(x) * x, **how)(x)


def test_how_a_checkpoint_is_said_to_be_counts():
    policy = jax.checkpoint_policies.dots_saveable
    compare(checkpointed, checkpointed)
    for how in ({"prevent_cse": False}, {"policy": policy}):
        other = functools.partial(checkpointed, **how)
        compare(other, other)
        for one, two in ((checkpointed, other), (other, checkpointed)):
            with pytest.raises(AssertionError, match="of its checkpoints are"):
                compare(one, two)
