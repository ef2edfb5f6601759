"""No module adds 16-bit numbers one after another, gradients included.

The pairs are audited in tests/numerics; modules have initializers, loops and calls of their own.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start
from tests.freeze.differences import recorded

import mlax.graph as bx
from mlax_scaffold.testing.sums import assert_no_narrow_sums, narrow_sums

PROGRAMS = {
    item: record["program"]
    for item, record in recorded("0.1.0").items()
    if record["program"].get("module")
}
LONG = 9
"""Steps of a loop: of a few it may add up gradients one after another."""

UNSPREAD = ("nn/F",)
"""Modules of a function of one's own."""


def _inputs(program, dtype):
    """What the module is called with, abstract, with floats of this dtype."""

    def made():
        names = {}
        exec(program["setup"], names)
        return eval(program.get("inputs") or "(x,)", names)

    def abstract(value):
        # Sequences of 3 become long; axes of images stay as they are.
        shape = value.shape
        if program["item"] in ("block/Recurrent", "block/Bidirectional"):
            shape = (shape[0], LONG, *shape[2:])
        floating = jnp.issubdtype(value.dtype, jnp.floating)
        return jax.ShapeDtypeStruct(shape, dtype if floating else value.dtype)

    return jax.tree.map(abstract, jax.eval_shape(made))


def _gradients(call, params, *inputs):
    """Of a call `(params, *inputs) -> (y, params)`: its gradients, as a jaxpr."""
    params = jax.eval_shape(lambda: call(params, *_zeros(inputs))[1])
    leaves, structure = jax.tree.flatten((params, inputs))
    floating = [
        i for i, v in enumerate(leaves) if jnp.issubdtype(v.dtype, jnp.floating)
    ]

    def gradient(values):
        def results(floats):
            full = list(values)
            for i, value in zip(floating, floats, strict=True):
                full[i] = value
            y, _ = call(*_flat(jax.tree.unflatten(structure, full)))
            return [
                v for v in jax.tree.leaves(y) if jnp.issubdtype(v.dtype, jnp.floating)
            ]

        y, vjp = jax.vjp(results, [values[i] for i in floating])
        return vjp([jnp.ones_like(v) for v in y])

    return jax.make_jaxpr(gradient)(leaves)


def _flat(trees):
    params, inputs = trees
    return params, *inputs


def _zeros(tree):
    return jax.tree.map(lambda v: jnp.zeros(v.shape, v.dtype), tree)


@pytest.mark.parametrize("item", PROGRAMS)
def test_no_sum_of_a_module_is_narrow(item):
    if item in UNSPREAD:
        return
    program = PROGRAMS[item]
    graph, rng, params = start()
    module = eval(
        program["module"],
        {"bx": bx, "jax": jax, "jnp": jnp, "np": np}
        | {"node": graph.child("item"), "rng": rng},
    )
    inputs = _inputs(program, jnp.bfloat16)
    jaxpr = _gradients(module, params, *inputs)
    assert_no_narrow_sums(jaxpr, what=item)


CELLS = ("GRU", "LSTM", "MGU", "SimpleRNN")


@pytest.mark.parametrize("is_static", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_no_sum_over_steps_is_narrow(cell, is_static):
    graph, rng, params = start()
    module = getattr(bx, cell)(
        graph.child("cell"), hidden_size=4, is_static=is_static, rng=rng
    )

    def call(params, x):
        carry, params = module.initial_state(params, x[:, 0])
        (y, _), params = module.apply(params, x, carry)
        return y, params

    x = jax.ShapeDtypeStruct((2, LONG, 4), jnp.bfloat16)
    assert_no_narrow_sums(_gradients(call, params, x), what=cell)


class Careless(bx.Module):
    """A bias that is added, and a loop that uses it in each step."""

    def __init__(self, graph, loops):
        super().__init__(graph)
        self.loops = loops

    def __call__(self, params, x):
        bias, params = self.get_param(params, "bias", (4,), jax.nn.initializers.ones)
        bias = bias.astype(x.dtype)
        if not self.loops:
            return x + bias, params
        return jax.lax.scan(lambda c, x: (c + x * bias, x), x[0], x)[0], params


@pytest.mark.parametrize("loops", [False, True])
def test_the_audit_sees_through_modules(loops):
    for dtype, expected in (("bfloat16", True), ("float32", False)):
        graph, _, params = start()
        x = jax.ShapeDtypeStruct((LONG, 4), jnp.dtype(dtype))
        module = bx.Series(graph.child("s"), [Careless(graph.child("c"), loops)])
        assert bool(narrow_sums(_gradients(module, params, x))) is expected
