"""Moments in lists, tuples and dictionaries: eagerly, as generated code, and against plain JAX."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import assert_same
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

HEAD = """
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import DType, Optimizer, Sizes, moment, ones, state, tree_add, zeros
"""
BODIES = {
    "listed": """
    betas: tuple[float, ...] = (0.0, 0.9)
    moment_dtype: DType | None = None

    def setup(self, param):
        self.traces = [moment(zeros, param.shape, self.moment_dtype) for _ in self.betas]

    def update(self, grad, param):
        self.traces = [b * t + grad for b, t in zip(self.betas, self.traces)]
        return -sum(self.traces) / len(self.betas)
    """,
    "named": """
    def setup(self, param):
        self.of = {"fast": moment(zeros, param.shape), "turns": moment(zeros, (), jnp.int32)}
        self.plain = moment(param)

    def setup_tree(self, params):
        self.calls = state(zeros, ())

    def update(self, grad, param):
        self.of["fast"] = 0.5 * self.of["fast"] + grad
        self.of["turns"] += 1
        self.plain = self.plain + self.of["turns"]
        return self.plain * self.of["fast"] + self.calls

    def finish(self, updates, params):
        self.calls = self.calls + 1.0
    """,
    "queued": """
    delays: Sizes = (2, 3)

    def setup(self, param):
        self.queues = []
        for delay in self.delays:
            queue = []
            for _ in range(delay):
                queue.append(moment(ones, param.shape))
            self.queues.append(queue)
        self.pair = (moment(zeros, param.shape), moment(param, dtype=jnp.float32))

    def update(self, grad, param):
        total = 0.0
        for i, queue in enumerate(self.queues):
            total = total + queue[0]
            self.queues[i] = queue[1:] + [grad]
        first, second = self.pair
        self.pair = [first + grad, second * 0.5]
        return total + first * second
    """,
    "sided": """
    def setup(self, param):
        self.sums = [moment(ones, (n,)) for n in param.shape]
        self.pairs = []
        for n in param.shape:
            self.pairs.append({"n": moment(zeros, (n, 1)), "turns": moment(zeros, (), jnp.int32)})

    def update(self, grad, param):
        for axis in range(param.ndim):
            others = tuple(a for a in range(param.ndim) if a != axis)
            self.sums[axis] = self.sums[axis] + jnp.max(jnp.abs(grad), axis=others)
            self.pairs[axis]["turns"] += 1
        for axis, total in enumerate(self.sums):
            shape = [1] * param.ndim
            shape[axis] = -1
            grad = grad / total.reshape(shape)
        return -grad * (1 + len(self.pairs))
    """,
    "growing": """
    def setup(self, param):
        self.traces = [moment(zeros, param.shape)]

    def update(self, grad, param):
        self.traces = self.traces + [grad]
        return -grad
    """,
    "whole": """
    betas: tuple[float, ...] = (0.0, 0.9)

    def setup(self, param):
        self.traces = [moment(zeros, param.shape) for _ in self.betas]

    def step(self, grads, params):
        self.traces = [
            jax.tree.map(lambda t, g, b=b: b * t + g, trace, grads)
            for b, trace in zip(self.betas, self.traces)
        ]
        return tree_add(self.traces[0], self.traces[1], -1.0)
    """,
}
PARTS = namedtuple("Parts", ["a", "b"])
WEIGHTS = {
    "array": jnp.arange(3.0),
    "dict": {"w": jnp.ones((2, 3)), "b": {"c": jnp.arange(4.0)}},
    "tuple": (jnp.ones(2), (jnp.arange(3.0),)),
    "list": [jnp.ones(2), jnp.arange(3.0)],
    "named": PARTS(jnp.ones(2), None),
    "half": [jnp.ones((2,), jnp.bfloat16)],
    "none": (),
}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    specs = []
    for name, body in BODIES.items():
        doc = f'"""A spec of a test."""\n{body}'
        text = f"{HEAD}\n\nclass {name.title()}(Optimizer):\n    {doc}"
        specs.append(SpecFile(f"specs/optim/{name}.py", "optim", text))
    with importable(specs, words, tmp_path_factory.mktemp("held")) as made:
        yield made


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", [name for name in BODIES if name != "growing"])
def test_steps(name: str, weights: str, examples: Examples):
    module: Any = examples.module("optim", name)
    params = WEIGHTS[weights]
    state, hyperparams = module.init(params)
    optimizer = examples.oracle("optim", name)()
    optimizer.initialize(params)
    structure = jax.tree.structure(state)
    for turn in range(3):
        grads = jax.tree.map(lambda p, n=turn: p * 0.5 + n, params)
        before = jax.tree.map(lambda x: x, state)
        updates, state = module.step(grads, state, params, hyperparams)
        assert jax.tree.structure(before) == structure
        assert_same(updates, optimizer.step(grads, params))
        assert jax.tree.structure(state) == structure
        own = {n: optimizer.state[n] for n in state._fields}
        assert jax.tree.structure(own) == jax.tree.structure(state._asdict())
        assert_same(state, type(state)(**own))


def test_each_place_is_structured_like_the_weights(examples: Examples):
    params = WEIGHTS["dict"]
    state, _ = examples.module("optim", "queued").init(params)
    assert [len(queue) for queue in state.queues] == [2, 3]
    for tree in (*state.queues[0], *state.queues[1], *state.pair):
        assert jax.tree.structure(tree) == jax.tree.structure(params)
    state, _ = examples.module("optim", "named").init(params)
    assert state.of["turns"]["w"].dtype == jnp.int32
    assert state.of["turns"]["w"].shape == ()


def test_it_is_what_plain_jax_computes(examples: Examples):
    module: Any = examples.module("optim", "listed")
    params, grads = jnp.arange(3.0), jnp.asarray([1.0, -2.0, 0.5])
    state, hyperparams = module.init(params, betas=(0.5, 0.25, 0.125))
    traces = np.zeros((3, 3))
    step = jax.jit(module.step)
    for _ in range(4):
        updates, state = step(grads, state, params, hyperparams)
        traces = np.array([0.5, 0.25, 0.125])[:, None] * traces + np.asarray(grads)
        np.testing.assert_allclose(updates, -traces.mean(0), rtol=1e-6)


def test_a_weight_may_have_fewer_of_them_than_another(examples: Examples):
    module: Any = examples.module("optim", "sided")
    params = {"w": jnp.ones((2, 3)), "b": jnp.ones(4), "s": jnp.ones(())}
    state, hyperparams = module.init(params)
    shapes = [jax.tree.map(jnp.shape, tree) for tree in state.sums]
    absent = (0, 0, 0)
    assert shapes == [
        {"w": (2,), "b": (4,), "s": absent},
        {"w": (3,), "b": absent, "s": absent},
    ]
    grads = {
        "w": jnp.asarray([[1.0, -2.0, 0.0], [3.0, 1.0, 1.0]]),
        "b": jnp.asarray([1.0, 0.0, -3.0, 1.0]),
        "s": jnp.asarray(5.0),
    }
    updates, state = jax.jit(module.step)(grads, state, params, hyperparams)
    rows, columns = np.array([[3.0], [4.0]]), np.array([4.0, 3.0, 2.0])
    np.testing.assert_allclose(updates["w"], -3 * grads["w"] / rows / columns, 1e-6)
    magnitudes = np.array([2.0, 1.0, 4.0, 2.0])
    np.testing.assert_allclose(updates["b"], -2 * grads["b"] / magnitudes, 1e-6)
    assert updates["s"] == -5.0
    assert state.pairs[1]["turns"]["w"] == 1
    assert state.pairs[1]["turns"]["b"].shape == absent


def test_moments_have_their_own_dtype(examples: Examples):
    module: Any = examples.module("optim", "listed")
    params = WEIGHTS["half"]
    state, hyperparams = module.init(params, moment_dtype="float32")
    updates, state = module.step(params, state, params, hyperparams)
    assert {leaf.dtype for leaf in jax.tree.leaves(state.traces)} == {
        jnp.dtype("float32")
    }
    assert updates[0].dtype == jnp.bfloat16


def test_a_state_of_other_weights_is_refused(examples: Examples):
    module: Any = examples.module("optim", "listed")
    state, hyperparams = module.init(WEIGHTS["dict"])
    other = {"w": jnp.ones((2, 3))}
    with pytest.raises(ValueError, match=r"state\.traces was made for other weights"):
        module.step(other, state, other, hyperparams)


def test_the_state_stays_as_it_is(examples: Examples):
    module: Any = examples.module("optim", "queued")
    params = WEIGHTS["array"]
    state, hyperparams = module.init(params)
    kept = state.queues[0][1]
    module.step(params, state, params, hyperparams)
    assert state.queues[0][1] is kept
    assert len(state.queues[0]) == 2


def test_their_number_stays(examples: Examples):
    module: Any = examples.module("optim", "growing")
    state, hyperparams = module.init(WEIGHTS["array"])
    optimizer = examples.oracle("optim", "growing")()
    optimizer.initialize(WEIGHTS["array"])
    said = "there are 1 in the list, and 2 are set"
    with pytest.raises(ValueError, match=said):
        module.step(WEIGHTS["array"], state, WEIGHTS["array"], hyperparams)
    with pytest.raises(ValueError, match=said):
        optimizer.step(WEIGHTS["array"], WEIGHTS["array"])
