"""Hyperparameters and modules survive pickle and deepcopy, with what they are built of."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mlax
import mlax.graph as bx
from mlax import initializers

KEY = jax.random.key(0)
X = jnp.ones((2, 4), jnp.float32)
COPIES = [
    pytest.param(copy.deepcopy, id="deepcopy"),
    pytest.param(lambda value: pickle.loads(pickle.dumps(value)), id="pickle"),
]


def layers() -> Any:
    """A block of layers that hold functions, choices and dtypes."""
    return mlax.block.Series.init(
        [
            mlax.nn.Linear.init(KEY, 4, 4, precision="high"),
            mlax.nn.F.init(jax.nn.relu),
            mlax.nn.F.init(mlax.functional.gelu),
            mlax.nn.BatchNorm.init(KEY, 4, accum_dtype="float32"),
            mlax.nn.Dropout.init(0.5),
            mlax.block.MLP.init(KEY, 4, 4, [8], jax.nn.tanh),
        ]
    )


def modules() -> tuple[Any, Any, Any]:
    """A module, the module in it that holds functions, and their params."""
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    linear = bx.Linear(graph.child("linear"), 4, rng=rng)
    mlp = bx.MLP(graph.child("mlp"), 4, [8], jax.nn.relu, rng=rng)
    model = bx.Series(graph.child("model"), [linear, mlp])
    params = rng.seed(bx.Params(), seed=0)
    return model, mlp, model(params, X)[1].locked()


@pytest.mark.parametrize("made", COPIES)
def test_hyperparameters_are_equal(made: Callable[[Any], Any]):
    trainables, state, hyperparams = layers()
    again = made(hyperparams)
    assert again == hyperparams
    assert hash(again) == hash(hyperparams)
    traced = []

    @jax.jit
    def run(x: Any, hyperparams: Any) -> Any:
        traced.append(hyperparams)
        return hyperparams.apply(x, trainables, state, True)[0]

    assert jnp.array_equal(run(X, hyperparams), run(X, again))
    assert len(traced) == 1


@pytest.mark.parametrize("made", COPIES)
def test_partial_functions_are_compared_by_what_they_are(
    made: Callable[[Any], Any],
):
    def hyperparams(**arguments: Any) -> Any:
        return mlax.nn.F.init(functools.partial(jax.nn.gelu, **arguments))[2]

    exact = hyperparams(approximate=False)
    assert made(exact) == exact == hyperparams(approximate=False)
    assert hash(made(exact)) == hash(exact)
    assert exact != hyperparams(approximate=True)
    # 0 is False, and may be taken for something else.
    assert exact != hyperparams(approximate=0)
    # Arrays of jax have no hash: such a function is equal to itself.
    shifted = mlax.nn.F.init(functools.partial(jnp.add, X))[2]
    assert shifted == shifted
    assert shifted != mlax.nn.F.init(functools.partial(jnp.add, X))[2]


def test_local_functions_are_compared_by_their_text_and_what_they_read():
    def hyperparams(factor: Any, start: Any = 0.0) -> Any:
        return mlax.nn.F.init(lambda x, start=start: factor * x + start)[2]

    assert hyperparams(2.0) == hyperparams(2.0)
    assert hash(hyperparams(2.0)) == hash(hyperparams(2.0))
    assert hyperparams(np.ones(3)) == hyperparams(np.ones(3))
    # 1 is equal to 1.0, and may make another dtype.
    for other in (hyperparams(3.0), hyperparams(2), hyperparams(2.0, 1.0)):
        assert other != hyperparams(2.0)
    assert hyperparams(np.ones(3)) != hyperparams(np.zeros(3))
    # Arrays of jax have no hash: such a function is equal to itself.
    shifted = hyperparams(X)
    assert shifted == shifted
    assert shifted != hyperparams(X)


@pytest.mark.parametrize("made", COPIES)
def test_modules_do_what_they_did(made: Callable[[Any], Any]):
    model, _, params = modules()
    again = made(model)
    assert again is not model
    assert again.path == model.path
    assert again.hyperparams == model.hyperparams
    assert hash(again.hyperparams) == hash(model.hyperparams)
    expected, _ = model(params, X, is_training=False)
    given, after = again(params, X, is_training=False)
    assert jnp.array_equal(given, expected)
    assert jax.tree.structure(after) == jax.tree.structure(params)


def test_a_copy_has_a_graph_of_its_own():
    model, _, _ = modules()
    again = copy.deepcopy(model)
    assert again.graph.root is not model.graph.root
    assert next(iter(again.modules())) is again
    assert again.graph.module is again


def every_default() -> list[Any]:
    """The initializers that layers, blocks and their modules have by default."""
    made = {
        f"{s.__name__}.{n}": getattr(s, n).init
        for s in (mlax.nn, mlax.block)
        for n in s.__all__
    }
    classes = {name: getattr(bx, name) for name in bx.__all__}
    made |= {n: c for n, c in classes.items() if hasattr(c, "functions")}
    return [
        pytest.param(parameter.default, id=f"{name}.{parameter.name}")
        for name, function in made.items()
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name.endswith("initializer") and callable(parameter.default)
        if parameter.default is not parameter.empty
    ]


@pytest.mark.parametrize("initializer", every_default())
def test_default_initializers_pickle(initializer: Any):
    assert pickle.loads(pickle.dumps(initializer)) == initializer


def test_those_of_a_fan_take_its_axes():
    made = initializers.lecun_normal(in_axis=1, out_axis=0)
    expected = jax.nn.initializers.lecun_normal(in_axis=1, out_axis=0)
    shape = (3, 5, 2)
    given = made(KEY, shape, jnp.float32)
    assert jnp.array_equal(given, expected(KEY, shape, jnp.float32))


class Scaled(bx.Module):
    """A module whose attribute is changed."""

    def __init__(self, graph: bx.Graph, factor: float) -> None:
        super().__init__(graph)
        self.factor = factor

    def __call__(self, params: bx.Params, x: Any) -> tuple[Any, bx.Params]:
        return self.factor * x, params


@pytest.mark.parametrize("made", COPIES)
def test_a_copy_of_a_module_is_not_taken_for_what_was_traced(
    made: Callable[[Any], Any],
):
    @functools.partial(jax.jit, static_argnums=0)
    def run(module: Any, x: Any) -> Any:
        return module(bx.Params(), x)[0]

    scaled = Scaled(bx.Graph("model").child("scaled"), 2.0)
    assert jnp.array_equal(run(scaled, X), 2 * X)
    scaled.factor = 3.0
    assert jnp.array_equal(run(made(scaled), X), 3 * X)
