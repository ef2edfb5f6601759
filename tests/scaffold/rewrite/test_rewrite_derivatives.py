"""Functions beside a definition with derivatives of their own: eagerly, generated, and refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import PROJECT, Examples, importable

from mlax_scaffold.errors import SpecError
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.gate.imports import GateFault, check_import
from mlax_scaffold.render.tests import files as tests
from mlax_scaffold.rewrite.helpers import rewrite_helpers

LAYER = '''
import functools

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer
from specs.functional.reversed import reversed_gradient


@jax.custom_jvp
def spike(v):
    return (v > 0).astype(v.dtype)


@spike.defjvp
def spike_jvp(primals, tangents):
    (v,), (dv,) = primals, tangents
    return spike(v), dv / (1.0 + jnp.abs(v))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled(x, factor):
    return x


def scaled_forward(x, factor):
    return x, None


# What comes back.
def scaled_backward(factor, _, g):
    return (factor * g,)


scaled.defvjp(scaled_forward, scaled_backward)


class Spiking(Layer, surrogate_gradient=True):
    """Spikes, with other gradients."""

    factor: float = 3.0  #: of the gradient

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return reversed_gradient(scaled(spike(x), self.factor))
'''
FUNCTION = '''
from jax import lax

from mlax_scaffold.spec import Float, function


@function(surrogate_gradient=True)
def reversed_gradient(x: Float["..."]) -> Float["..."]:
    """The identity, with the negative gradient."""
    return lax.stop_gradient(2.0 * x) - x
'''
BUILT_ON_IT = '''
from mlax_scaffold.spec import Float, Layer
from specs.functional.reversed import reversed_gradient


class Built(Layer):
    """Built on a function."""

    def forward(self, x: Float["..."]) -> Float["..."]:
        return reversed_gradient(x)
'''
SPECS = (
    SpecFile("specs/nn/spiking.py", "nn", LAYER),
    SpecFile("specs/nn/built.py", "nn", BUILT_ON_IT),
    SpecFile("specs/functional/reversed.py", "functional", FUNCTION),
)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    with importable(SPECS, words, tmp_path_factory.mktemp("rules")) as made:
        yield made


def test_rules_give_the_gradient(examples: Examples):
    module = examples.module("nn", "spiking")
    x = jnp.asarray([-2.0, 0.5, 3.0])

    def total(x):
        return jnp.sum(module.fwd(x, *module.init())[0])

    np.testing.assert_array_equal(module.fwd(x, *module.init())[0], [0.0, 1.0, 1.0])
    expected = -3.0 / (1.0 + np.abs(np.asarray(x)))
    np.testing.assert_allclose(jax.grad(total)(x), expected, rtol=1e-6)
    layer = examples.oracle("nn", "spiking")()
    eager = jax.grad(lambda x: jnp.sum(layer(x)))(x)
    np.testing.assert_array_equal(eager, jax.grad(total)(x))


def test_helpers_stand_in_the_order_of_the_spec(words):
    library = read_library(SPECS, words)
    definition = next(d for d in library if d.name == "Spiking")
    nodes = ast.parse(rewrite_helpers(definition)).body
    assert [getattr(n, "name", "") for n in nodes] == [
        *("spike", "spike_jvp", "scaled", "scaled_forward", "scaled_backward", "")
    ]
    assert "# What comes back." in rewrite_helpers(definition)


def test_what_is_built_on_such_a_function_is_no_derivative_either(words):
    library = read_library(SPECS, words)
    for definition in library:
        if definition.name in ("Built", "reversed_gradient"):
            assert library.surrogate(definition)
            made = tests.test_module(definition, library, PROJECT)
            assert "surrogate=True" in made.text


@pytest.mark.parametrize(
    "statement",
    [
        "plain.defvjp(plain, plain)",
        "ruled.defvjp(plain, print)",
        "ruled.defvjp(plain, plain(1))",
        "ruled.other(plain, plain)",
        "@plain.defjvp\ndef rule(): pass",
        "@functools.partial(jax.custom_vjp, nondiff_argnums=print(1))\ndef rule(): pass",
        "@functools.partial(print)\ndef rule(): pass",
    ],
)
def test_the_gate_lets_nothing_else_run(statement: str):
    text = (
        "import functools\n\nimport jax\n\n\ndef plain(x): return x\n\n\n"
        "@jax.custom_vjp\ndef ruled(x): return x\n\n\n"
    )
    check_import(Rendered("m.py", f"{text}ruled.defvjp(plain, plain)\n", ""), "m")
    with pytest.raises(GateFault, match="may not run at import"):
        check_import(Rendered("m.py", f"{text}{statement}\n", ""), "m")


@pytest.mark.parametrize(
    ("given", "wanted", "message"),
    [
        ("@jax.custom_jvp", "@jax.vmap", "has a decorator"),
        ("scaled.defvjp", "spike.defvjp", "no function with `@jax.custom_vjp`"),
        ("@spike.defjvp", "@scaled.defjvp", "has a decorator"),
        ("(1,)", "(jax.devices(),)", "has a decorator"),
    ],
)
def test_other_forms_are_refused(given: str, wanted: str, message: str, words):
    spec = SpecFile("specs/nn/spiking.py", "nn", LAYER.replace(given, wanted))
    with pytest.raises(SpecError, match=message):
        read_library((spec, *SPECS[1:]), words)
