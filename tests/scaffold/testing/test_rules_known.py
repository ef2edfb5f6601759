"""Derivative rules are traced once where they are the same, and each where they are not."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import pytest

from mlax_scaffold.testing import _jaxprs
from mlax_scaffold.testing._rules_known import traced_once


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def turned(x, factor):
    """The same, with another gradient."""
    return x * 1.0


turned.defvjp(lambda x, factor: (x, None), lambda factor, _, g: (g * factor,))


def held(factor):
    """The same, whose rule holds the factor."""

    @jax.custom_jvp
    def function(x):
        return x * 1.0

    @function.defjvp
    def rule(primals, tangents):
        return primals[0] * 1.0, tangents[0] * factor

    return function


def calls(function, *shapes, dtype=jnp.float32):
    """The calls with rules of a program."""
    x = [jax.ShapeDtypeStruct(s, dtype) for s in shapes]
    # A function of its own is traced anew.
    jaxpr = jax.make_jaxpr(partial(function))(*x).jaxpr
    found = [e for e in jaxpr.eqns if e.primitive.name in _jaxprs.CUSTOM_RULES]
    return [(jaxpr, eqn) for eqn in found]


def count(found):
    """How many of these calls are traced."""
    traced = []
    made = [
        traced_once(eqn, len(found), lambda at=at: traced.append(at) or at)
        for at, (_, eqn) in enumerate(found)
    ]
    assert len(made) == len(found)
    return len(traced)


@pytest.mark.parametrize("function", [jax.nn.relu, lambda x: turned(x, 3.0), held(3.0)])
def test_the_same_rules_are_traced_once(function):
    found = [*calls(function, (3,)), *calls(lambda x: function(function(x)), (3,))]
    assert len(found) == 3
    assert count(found) == 1
    one, *others = (_jaxprs.custom_rules(*call) for call in found)
    assert one is not None
    assert all(other is one for other in others)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: turned(x, 3.0), lambda x: turned(x, -3.0)),
        (held(3.0), held(-3.0)),
        (jax.nn.relu, jax.nn.relu6),
        (lambda x: turned(x, 3.0), held(3.0)),
    ],
)
def test_rules_of_other_values_or_functions_are_others(one, other):
    found = [*calls(one, (3,)), *calls(other, (3,))]
    rules = [str(_jaxprs.custom_rules(*call)) for call in found]
    assert len(set(rules)) == 2


def test_operands_of_other_types_have_rules_of_their_own():
    found = [
        *calls(jax.nn.relu, (3,)),
        *calls(jax.nn.relu, (4,)),
        *calls(jax.nn.relu, (3,), dtype=jnp.float16),
    ]
    rules = [str(_jaxprs.custom_rules(*call)) for call in found]
    assert len({text.partition(". let")[0] for text in rules}) == 3


def test_what_is_held_by_its_identity_is_no_other_object():
    class Settings:
        def __init__(self, factor):
            self.factor = factor

    def made(settings):
        function = jax.custom_jvp(lambda x: x * 1.0)
        function.defjvp(lambda p, t: (p[0] * 1.0, t[0] * settings.factor))
        return function

    rules = [
        str(_jaxprs.custom_rules(*call))
        for factor in range(2, 30)
        for call in calls(made(Settings(float(factor))), (3,))
    ]
    assert len(set(rules)) == 28
