"""What modules learn from inputs, and what their classes take."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import pytest
from graph_models import start
from jax.sharding import PartitionSpec as P

import mlax.graph as bx
from mlax.graph._recurrent import RecurrentModule
from mlax.graph._rng import Rng

CLASSES = sorted(
    (c for c in vars(bx).values() if isinstance(c, type) and "functions" in vars(c)),
    key=lambda c: c.__name__,
)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_generator_is_passed_by_name(cls):
    names = list(inspect.signature(cls).parameters)[1:]
    for place, name in enumerate(names, 1):
        graph, rng, _ = start()
        given = [graph.child("node"), *[None] * (place - 1)]
        error = f"{cls.__name__}: {name} is given an Rng; pass it by its name, rng=..."
        with pytest.raises(TypeError, match=error):
            cls(*given, rng)
        if name != "rng":
            with pytest.raises(TypeError, match=error):
                cls(graph.child("other"), **{name: rng})


def test_modules_of_ones_own_take_a_generator_as_they_like():
    class Half(bx.Linear):
        def __init__(self, graph, rng):
            super().__init__(graph, 2, rng=rng)

    graph, rng, params = start()
    half = Half(graph.child("half"), rng)
    assert half(params, jnp.ones((1, 3)), is_training=False)[0].shape == (1, 2)
    assert isinstance(rng, Rng)


def made() -> tuple[bx.Linear, bx.Params]:
    graph, rng, params = start()
    return bx.Linear(graph.child("linear"), 4, rng=rng), params


def refused(linear: bx.Linear, params: bx.Params, size: int) -> None:
    with pytest.raises(ValueError, match="must have shape"):
        linear(params, jnp.ones((1, size)), is_training=False)


def test_hyperparameters_are_those_of_the_parameters():
    linear, empty = made()
    _, params = linear(empty, jnp.ones((1, 3)), is_training=False)
    refused(linear, params, 5)
    assert linear.hyperparams.in_features == 3
    jax.eval_shape(lambda: linear(empty, jnp.ones((1, 7)), is_training=False))
    assert linear.hyperparams.in_features == 3
    jax.make_jaxpr(lambda p, x: linear(p, x, is_training=False))(
        empty, jnp.ones((1, 7))
    )
    assert linear.hyperparams.in_features == 3


def test_a_first_call_that_fails_teaches_nothing():
    linear, empty = made()
    with pytest.raises(bx.LockedError):
        linear(empty.locked(), jnp.ones((1, 5)), is_training=False)
    with pytest.raises(ValueError, match="call it once"):
        linear.hyperparams  # noqa: B018


def test_arrays_teach_more_than_shapes():
    linear, empty = made()
    jax.eval_shape(lambda: linear(empty, jnp.ones((1, 7)), is_training=False))
    assert linear.hyperparams.in_features == 7
    jax.eval_shape(lambda: linear(empty, jnp.ones((1, 9)), is_training=False))
    assert linear.hyperparams.in_features == 7
    _, params = linear(empty, jnp.ones((1, 3)), is_training=False)
    assert linear.hyperparams.in_features == 3
    weights, _ = bx.params_to_pair(linear, params)
    assert weights.kernel.shape == (3, 4)


def test_modules_in_blocks_learn_as_alone():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 3, rng=rng)
    block = bx.Residual(graph.child("block"), linear)
    _, params = block(params, jnp.ones((1, 3)), is_training=False)
    with pytest.raises(ValueError, match="shape"):
        block(params.locked(), jnp.ones((1, 5)), is_training=False)
    assert block.hyperparams.layer.in_features == 3


CELLS = sorted(RecurrentModule.__subclasses__(), key=lambda cell: cell.__name__)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.__name__)
def test_a_cell_takes_all_sizes_of_inputs_from_the_first_one(cell):
    graph, rng, params = start()
    known = inspect.signature(cell).parameters
    images = "channels" in known
    sizes = {"hidden_size": 3, "channels": 3, "kernel_size": (3, 3)}
    given = {n: v for n, v in sizes.items() if n in known}
    module = cell(graph.child("cell"), **given, rng=rng)
    steps = jax.ShapeDtypeStruct((2, 5, 3, *((6, 7) if images else ())), jnp.float32)
    over = bx.Recurrent(graph.child("over"), module, time_major=True)

    def run(x):
        state, _ = module.initial_state(params, x[:, 0])
        (ys, _), made = module.apply(params, x, state, is_training=False)
        zs, _ = over(made, jnp.moveaxis(x, 1, 0), is_training=False)
        return ys, jnp.moveaxis(zs, 0, 1), module.initial_carry(x[:, 0].shape, x.dtype)

    ys, zs, carry = jax.eval_shape(run, steps)
    assert ys.shape == zs.shape == steps.shape
    assert all(leaf.shape[0] == 2 for leaf in jax.tree.leaves(carry))


SPECS = {
    "kernel": {"sharding": P(None, "model"), "tag": 1},
    "bias": {"sharding": P("model")},
}


def test_repeated_weights_are_not_spread_over_their_depth():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 3, rng=rng, metadata=SPECS)
    inner = bx.Repeat(graph.child("inner"), linear, 2)
    model = bx.Repeat(graph.child("outer"), inner, 5)
    _, params = inner(params, jnp.ones((1, 3)), is_training=False)
    kernel, bias = (linear.param_path(name) for name in ("kernel", "bias"))

    def specs(params):
        found = bx.partition_specs(params)
        return found[kernel].value, found[bias].value

    once, twice = (
        (P(None, None, "model"), P(None, "model")),
        (
            P(None, None, None, "model"),
            P(None, None, "model"),
        ),
    )
    assert specs(params) == once
    assert params[kernel].metadata["tag"] == 1
    first, rest = params.split()
    assert specs(rest.merge(first)) == once
    pair = bx.params_to_pair(inner, params)
    assert specs(bx.pair_to_params(inner, *pair)) == once
    assert specs(bx.pair_to_params(inner, *pair, params)) == once
    _, params = inner(params, jnp.ones((1, 3)), is_training=True)
    assert specs(params) == once
    _, deep = model(start()[2], jnp.ones((1, 3)), is_training=False)
    assert specs(deep) == twice
    assert specs(bx.pair_to_params(model, *bx.params_to_pair(model, deep))) == twice


class Own(bx.Module):
    """A module that looks at the shardings of its weights, as they are in each turn."""

    def __call__(self, params, x, is_training=True):
        ones, facts = jax.nn.initializers.ones, {"sharding": P("model")}
        weight, params = self.get_param(params, "w", x.shape[-1:], ones, metadata=facts)
        self.spec = params[self.param_path("w")].metadata["sharding"]
        return x * weight, params


def test_a_turn_sees_its_own_sharding():
    graph, _, params = start()
    own = Own(graph.child("own"))
    model = bx.Repeat(graph.child("repeat"), own, 2)
    _, params = model(params, jnp.ones((1, 3)), is_training=False)
    assert own.spec == P("model")
    path = own.param_path("w")
    assert params[path].metadata["sharding"] == P(None, "model")
    made = bx.pair_to_params(model, *bx.params_to_pair(model, params))
    assert made[path].metadata["sharding"] == P(None, "model")
