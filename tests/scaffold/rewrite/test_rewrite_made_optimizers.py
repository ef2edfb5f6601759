"""Optimizers that `setup_tree` of another one makes: eagerly, as generated code, and by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import as_dict, assert_same
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

HEAD = """
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Optimizer, Size, SubOptimizer, SubOptimizers, moment, state, tree_add, zeros
from mlax_scaffold.specs.optim.adam import Adam
from mlax_scaffold.specs.optim.chain import Chain
from mlax_scaffold.specs.optim.clip import Clip
from mlax_scaffold.specs.optim.lookahead import Lookahead
from mlax_scaffold.specs.optim.noisy_sgd import NoisySgd
from mlax_scaffold.specs.optim.sgd import Sgd
"""
BODIES = {
    "one": """
    rate: float = 0.5

    def setup_tree(self, params):
        self.inner = Sgd(self.rate, momentum=0.5)

    def step(self, grads, params):
        return self.inner(self.inner(grads, params), params)
    """,
    "nested": """
    rate: float = 0.5
    period: Size = 2

    def setup(self, param):
        self.trace = moment(zeros, param.shape)

    def setup_tree(self, params):
        half = self.rate / 2
        self.inner = Lookahead(Chain([Clip(0.5), Sgd(half, momentum=0.5)]), period=self.period)
        self.calls = state(zeros, ())

    def step(self, grads, params):
        self.calls = self.calls + 1.0
        self.trace = self.inner(grads, params)
        return tree_add(self.trace, grads, 0.1)
    """,
    "beside": """
    optimizer: SubOptimizer

    def setup_tree(self, params):
        self.adam = Adam(0.1)
        self.noisy = NoisySgd(0.1, 0.5)

    def step(self, grads, params):
        first = self.optimizer(grads, params)
        second, new = self.adam.apply(grads, self.adam.state, params)
        self.adam.state = new
        third = self.noisy(grads, params)
        return jax.tree.map(lambda a, b, c: a + b + c, first, second, third)
    """,
    "several": """
    parts: SubOptimizers

    def step(self, grads, params):
        before = [part.state for part in self.parts]
        each = [part(grads, params) for part in self.parts]
        other = tuple(part(each[0], params) for i, part in enumerate(self.parts) if i < 1)
        counts = sum(s.step for s in before) + sum(part.state.step for part in self.parts)
        return jax.tree.map(lambda a, b, c: a + b + c * counts.astype(c.dtype), *each, *other)
    """,
}
PARAMS = {"w": jnp.ones((2, 3)), "b": {"c": jnp.arange(4.0)}}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    specs = []
    for name, body in BODIES.items():
        doc = f'"""A spec of a test."""\n{body}'
        text = f"{HEAD}\n\nclass {name.title()}(Optimizer):\n    {doc}"
        specs.append(SpecFile(f"specs/optim/{name}.py", "optim", text))
    with importable(specs, words, tmp_path_factory.mktemp("made")) as made:
        yield made


def given(name: str, examples: Examples) -> dict[str, Any]:
    sgd = examples.module("optim", "sgd").init(PARAMS, 0.1, momentum=0.5)
    noisy = examples.module("optim", "noisy_sgd").init(PARAMS, 0.1, 0.5)
    several = {"beside": {"optimizer": sgd}, "several": {"parts": (sgd, noisy)}}
    return several.get(name, {})


@pytest.mark.parametrize("loaded", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_steps(name: str, loaded: bool, examples: Examples):
    module: Any = examples.module("optim", name)
    fields = given(name, examples)
    weights = () if name == "several" else (PARAMS,)
    state, hyperparams = module.init(*weights, **fields)
    optimizer = examples.oracle("optim", name)(**fields)
    if loaded:
        optimizer.load(state)
    else:
        optimizer.initialize(PARAMS)
    step = jax.jit(module.step)
    for turn in range(3):
        grads = jax.tree.map(lambda p, n=turn: p * 0.5 - n, PARAMS)
        key = jax.random.key(turn)
        updates, state = step(grads, state, PARAMS, hyperparams, key=key)
        assert_same(updates, optimizer.step(grads, PARAMS, key=key))
    counts = {"one": 6, "nested": 3, "beside": 3, "several": 6}
    assert counted(state) == counts[name]
    assert counted(optimizer.state) == counts[name]


def counted(state: Any) -> float:
    """How often the inner optimizers were run: as often as one of them says."""
    for part in ("inner", "adam", "parts"):
        fields = as_dict(state)
        if part in fields:
            inner = fields[part][0] if part == "parts" else fields[part]
            return float(as_dict(inner)["step"])
    raise AssertionError(f"no inner optimizer in {state}")


def test_it_is_what_the_parts_do_by_hand(examples: Examples):
    module: Any = examples.module("optim", "one")
    sgd: Any = examples.module("optim", "sgd")
    state, hyperparams = module.init(PARAMS, rate=0.25)
    inner, of_inner = sgd.init(PARAMS, 0.25, momentum=0.5)
    assert_same(as_dict(state.inner), as_dict(inner))
    updates, state = module.step(PARAMS, state, PARAMS, hyperparams)
    expected = PARAMS
    for _ in range(2):
        expected, inner = sgd.step(expected, inner, PARAMS, of_inner)
    assert_same(updates, expected)
    assert_same(as_dict(state.inner), as_dict(inner))
    assert hash(hyperparams) == hash(module.init(PARAMS, rate=0.25)[1])


def test_states_are_structured_like_the_weights(examples: Examples):
    state, _ = examples.module("optim", "nested").init(PARAMS)
    lookahead = state.inner
    assert jax.tree.structure(lookahead.slow) == jax.tree.structure(PARAMS)
    np.testing.assert_array_equal(lookahead.slow["w"], PARAMS["w"])
    shapes: Any = jax.eval_shape(examples.module("optim", "nested").init, PARAMS)[0]
    assert shapes.inner.slow["w"].shape == (2, 3)
