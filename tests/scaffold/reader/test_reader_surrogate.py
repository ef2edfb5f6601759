"""Who stops a gradient, in a project of one's own, means another gradient than the derivative."""

from __future__ import annotations

import pytest

from mlax_scaffold.model.definition import Reference
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library

BODY = '''
from jax import lax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer


def through(y):
    return y + lax.stop_gradient(jnp.round(y) - y)


class Rounded(Layer{said}):
    """Rounds."""

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return {called}(x)
'''
PARENT = '''
from mlax_scaffold.spec import Float, Layer
from specs.nn.rounded import Rounded


class Parent(Layer):
    """Rounds, too."""

    def setup(self):
        self.rounded = Rounded()

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return self.rounded(x)
'''


def library(said: str = "", called: str = "through", *, foreign: bool = True):
    own = (
        SpecFile("specs/nn/rounded.py", "nn", BODY.format(said=said, called=called)),
        SpecFile("specs/nn/parent.py", "nn", PARENT),
    )
    return read_library(own, foreign=foreign)


@pytest.mark.parametrize(
    ("said", "called", "foreign", "expected"),
    [
        ("", "through", True, True),
        ("", "jnp.tanh", True, False),
        (", surrogate_gradient=False", "through", True, False),
        (", surrogate_gradient=True", "jnp.tanh", True, True),
        ("", "through", False, False),
    ],
    ids=["stopped", "not stopped", "denied", "said", "in the library"],
)
def test_whether_the_gradient_is_another(said, called, foreign, expected):
    read = library(said, called, foreign=foreign)
    for name in ("Rounded", "Parent"):
        assert read.traits(Reference("nn", name)).surrogate is expected


RULE = '''
import functools

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer


def solved(x):
    def unsure(pair):
        return jnp.max(jnp.abs(pair[0] - pair[1])) > 1e-3

    def step(pair):
        return pair[1], jnp.cos(pair[1] + x)

    return jax.lax.while_loop(unsure, step, (x, x + 1.0))[1]


def doubly(x):
    return 2 * solved(x)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def fired(x, slope):
    return {value}


def fired_fwd(x, slope):
    return fired(x, slope), x


def fired_bwd(slope, x, g):
    return (g / (1 + slope * jnp.abs(x)) ** 2,)


fired.defvjp(fired_fwd, fired_bwd)


class Fired(Layer):
    """Fires."""

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return fired(x, 2.0)
'''


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("(x > 0).astype(x.dtype)", True),
        ("jnp.round(x)", True),
        ("jnp.where(x > 0, jnp.asarray(1.0, x.dtype), -1.0)", True),
        ("jnp.where(x > 0, jnp.ones_like(x), jnp.zeros_like(x))", True),
        ("jnp.where(x > 0, x, 0.0)", False),
        ("jnp.asarray(x > 0, x.dtype)", True),
        ("x", True),
        ("jnp.log1p(jnp.exp(x))", False),
        ("doubly(x)", True),
        ("jax.lax.fori_loop(0, 9, lambda i, y: (y + x / y) / 2, x)", True),
    ],
)
def test_the_rule_of_what_jumps_iterates_or_changes_nothing_is_no_derivative(
    value: str, expected: bool
):
    file = SpecFile("specs/nn/fired.py", "nn", RULE.format(value=value))
    read = read_library((file,), foreign=True)
    assert read.traits(Reference("nn", "Fired")).surrogate is expected
