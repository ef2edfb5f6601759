"""Modules that are used several times, that set weights, that draw: alone and in every block."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start
from jax.nn.initializers import ones, zeros

import mlax.graph as bx
from mlax.block import residual
from mlax.graph._block import BlockModule

X = jnp.ones((2, 3, 4))


class Count(bx.Module):
    """How often it was called, and a weight that it clips in training."""

    def __call__(self, params, x, is_training=True):
        count, params = self.get_param(params, "count", (), zeros, trainable=False)
        weight, params = self.get_param(params, "weight", (), ones)
        if is_training:
            params = self.set_param(params, "count", count + 1)
            params = self.set_param(params, "weight", weight * 0.5)
        return x * weight, params


class Cell(bx.Module):
    """A cell that calls a module."""

    def __init__(self, graph, inner):
        super().__init__(graph)
        self.inner = inner

    def initial_carry(self, input_shape, dtype):
        return jnp.zeros(input_shape, dtype)

    def __call__(self, params, x, is_training=True):
        x, carry = x
        y, params = self.inner(params, x, is_training=is_training)
        return (y, carry + y), params


class Draws(bx.Module):
    """A module that draws at inference too."""

    def __init__(self, graph, rng):
        super().__init__(graph)
        self.rng = rng

    def __call__(self, params, x, is_training=True):
        key, params = self.rng(params)
        return x + jax.random.normal(key, x.shape, x.dtype), params


def pair(graph: bx.Graph, module: bx.Module) -> bx.Module:
    """Two cells as one, both of which call a module."""
    cells = [Cell(graph.child(name), module) for name in ("lower", "upper")]
    return bx.StackedCells(graph.child("pair"), *cells)


Build = Callable[[bx.Graph, Any], bx.Module]

BLOCKS: dict[str, tuple[Build, int]] = {
    "Series": (lambda g, m: bx.Series(g.child("b"), [m, m, m]), 3),
    "Parallel": (lambda g, m: bx.Parallel(g.child("b"), [m, m]), 2),
    "Residual": (lambda g, m: bx.Residual(g.child("b"), m), 1),
    "Remat": (lambda g, m: bx.Remat(g.child("b"), m), 1),
    "Repeat": (lambda g, m: bx.Repeat(g.child("b"), m, 2), 1),
    "Recurrent": (
        lambda g, m: bx.Recurrent(g.child("b"), Cell(g.child("cell"), m)),
        X.shape[1],
    ),
    "Bidirectional": (
        lambda g, m: bx.Bidirectional(
            g.child("b"),
            *[bx.Recurrent(g.child("r"), Cell(g.child("cell"), m))] * 2,
            merge="add",
        ),
        2 * X.shape[1],
    ),
    "BatchApply": (lambda g, m: bx.BatchApply(g.child("b"), m), 1),
    "StackedCells": (
        lambda g, m: bx.Recurrent(g.child("b"), pair(g, m)),
        2 * X.shape[1],
    ),
}
"""Every block with a module in each of its places, and how often it calls it."""


def inside(
    blocks: tuple[str, ...], module: Callable[..., bx.Module]
) -> tuple[Any, ...]:
    """A module in blocks in blocks, the last one outermost; its calls; params to start with."""
    graph, rng, params = start()
    x: Any = X
    built, calls = module(graph.child("module"), rng), 1
    for i, name in enumerate(blocks):
        build, times = BLOCKS[name]
        node = graph.child(f"level_{i}")
        built, calls = build(node, built), calls * times
        x = (x, x) if name == "Parallel" else x
    return built, calls, rng, params, x


def test_every_block_with_places_for_modules_is_tried():
    classes = (c for c in vars(bx).values() if isinstance(c, type))
    blocks = {c.__name__ for c in classes if issubclass(c, BlockModule)}
    assert blocks == set(BLOCKS)


NESTED = [
    *((name,) for name in BLOCKS),
    ("Series", "Residual"),
    ("Residual", "Series"),
    ("Series", "Repeat"),
    ("Repeat", "Series"),
    ("Series", "Remat", "Series"),
    ("Series", "Recurrent"),
    ("Remat", "Recurrent"),
    ("Recurrent", "Remat", "Series"),
]


@pytest.mark.parametrize("blocks", NESTED, ids="-".join)
def test_each_call_sees_what_those_before_it_changed(blocks):
    model, calls, _, params, x = inside(blocks, lambda node, _: Count(node))
    params = model(params, x, is_training=False)[1].locked()
    assert (params["model", "module", "count"].value == 0).all()

    after = jax.jit(model, static_argnames="is_training")(params, x, is_training=True)[
        1
    ]
    assert jax.tree.structure(after) == jax.tree.structure(params)
    assert (after["model", "module", "count"].value == calls).all()
    weight = after["model", "module", "weight"].value
    np.testing.assert_array_equal(weight, np.full_like(weight, 0.5**calls))


@pytest.mark.parametrize("blocks", [("Series",), ("Repeat",), ("Recurrent",)])
def test_what_is_not_compiled_is_the_same(blocks):
    model, calls, _, params, x = inside(blocks, lambda node, _: Count(node))
    params = model(params, x, is_training=False)[1].locked()
    after = model(params, x, is_training=True)[1]
    assert (after["model", "module", "count"].value == calls).all()
    kept = model(after, x, is_training=False)[1]
    assert (kept["model", "module", "count"].value == calls).all()


@pytest.mark.parametrize("blocks", [("Series",), ("Remat", "Series"), ("Repeat",)])
def test_a_block_gives_what_its_modules_give_one_after_another(blocks):
    model, calls, _, params, x = inside(blocks, lambda node, _: Count(node))
    params = model(params, x, is_training=False)[1].locked()
    y, _ = model(params, x, is_training=True)
    own = 0 if "Repeat" in blocks else sum(range(calls))
    np.testing.assert_allclose(y, X * 0.5**own)


def test_gradients_go_through_weights_that_a_module_sets():
    model, _, _, params, x = inside(("Series", "Remat"), lambda node, _: Count(node))
    params = model(params, x, is_training=False)[1].locked()
    weights, rest = params.split()

    def loss(weights):
        return jnp.sum(model(weights.merge(rest), x, is_training=True)[0])

    slope = jax.grad(loss)(weights)["model", "module", "weight"].value
    # w * (w / 2) * (w / 4) of each element.
    assert slope == 3 / 8 * X.size


def test_modules_share_parts_of_their_own():
    graph, _, params = start()
    shared = Count(graph.child("shared"))
    cells = [Cell(graph.child(n), shared) for n in "ab"]
    blocks = [
        bx.Recurrent(graph.child(f"over_{n}"), c)
        for n, c in zip("ab", cells, strict=True)
    ]
    model = bx.Series(graph.child("all"), [shared, *blocks, shared])
    params = model(params, X, is_training=False)[1].locked()
    after = model(params, X, is_training=True)[1]
    assert after["model", "shared", "count"].value == 2 + 2 * X.shape[1]


def test_layers_with_state_are_used_twice():
    graph, rng, params = start()
    norm = bx.BatchNorm(graph.child("norm"), channel_last=True, rng=rng)
    x = jax.random.normal(jax.random.key(0), (8, 4)) + 3.0
    blocks = [
        bx.Series(graph.child("series"), [norm, norm]),
        bx.Sequential(graph.child("sequential"), [norm, norm]),
    ]
    params = norm(params, x, is_training=False)[1].locked()
    first, second = (block(params, x, is_training=True)[1] for block in blocks)
    for path in params:
        if path[1] == "norm":
            np.testing.assert_array_equal(first[path].value, second[path].value)


@pytest.mark.parametrize("blocks", NESTED, ids="-".join)
def test_what_draws_alone_draws_in_a_block(blocks):
    model, _, rng, params, x = inside(blocks, Draws)
    params = params.locked()
    infer = jax.jit(lambda params, x: model(params, x, is_training=False))
    (y, after), (z, _) = infer(params, x), infer(rng.seed(params, counter=9), x)
    pairs = zip(*map(jax.tree.leaves, (y, z)), strict=True)
    assert all((a != b).all() for a, b in pairs)
    assert int(rng.get_counter(after)) > 0
    assert rng.get_seed(after) == rng.get_seed(params)
    assert jax.tree.structure(after) == jax.tree.structure(params)


def test_what_draws_at_inference_says_that_there_is_no_seed():
    model, _, _, _, x = inside(("Series", "Remat"), Draws)
    with pytest.raises(ValueError, match=r"rng\.seed\(params, seed=...\)"):
        model(bx.Params().locked(), x, is_training=False)


class Freezes(bx.Module):
    """A module that freezes its weight in its first call in training."""

    def __call__(self, params, x, is_training=True):
        weight, params = self.get_param(params, "weight", (), ones)
        if is_training:
            params = self.set_param(params, "weight", None, trainable=False)
        return x * weight, params


def test_flags_that_a_module_sets_are_set_or_refused():
    path = ("model", "module", "weight")
    for name in ("Series", "Residual"):
        model, _, _, params, x = inside((name,), lambda node, _: Freezes(node))
        params = model(params, x, is_training=False)[1]
        assert params[path].trainable
        assert not model(params, x, is_training=True)[1][path].trainable
    model, _, _, params, x = inside(("Remat",), lambda node, _: Freezes(node))
    params = model(params, x, is_training=False)[1]
    with pytest.raises(ValueError, match=r"/weight'.*cannot change in a loop"):
        model(params, x, is_training=True)


def test_pairs_have_no_place_for_weights_that_change():
    from mlax import block

    model, _, _, params, x = inside(("Series",), lambda node, _: Count(node))
    params = model(params, x, is_training=False)[1]
    weights, state = bx.params_to_pair(model, params)
    hyperparams = model.hyperparams
    block.Series.fwd(x, weights, state, hyperparams, inference_mode=True)
    with pytest.raises(ValueError, match=r"sets the weight '.*/weight'"):
        block.Series.fwd(x, weights, state, hyperparams)
    doubled = jax.tree.map(lambda w: 2 * w, weights)
    unlike = doubled._replace(layers=(weights.layers[0], *doubled.layers[1:]))
    with pytest.raises(ValueError, match=r"/weight' is given twice"):
        bx.pair_to_params(model, unlike, state, params)
    after = bx.pair_to_params(model, doubled, state, params)
    assert after["model", "module", "weight"].value == 2


class Tally(bx.Module):
    """x plus the number of calls before."""

    def __call__(self, params, x, is_training=True):
        count, params = self.get_param(params, "count", (), zeros, trainable=False)
        return x + count, self.set_param(params, "count", count + 1)


def block_of(calls: Callable[[Any, Any], Any]) -> Any:
    """The class of a block whose output and last state this makes of a call and the first state."""

    def fwd(x, trainables, non_trainables, hyperparams, inference_mode, key=None):
        def call(state):
            return hyperparams.layer.apply(
                x, trainables.layer, state, inference_mode, key
            )

        y, state = calls(call, non_trainables.layer)
        return y, non_trainables._replace(layer=state)

    functions = SimpleNamespace(init=residual.init, fwd=fwd)
    return type("Of", (bx.Residual,), {"functions": functions, "__call__": _called})


def _called(self, params, x, is_training=True):
    return self.call(self.functions.fwd, params, x, is_training)


def drops(call, state):
    return call(state)[0], state


def drops_twice(call, state):
    y, _ = call(state)
    z, _ = call(state)
    return y + z, state


def keeps_after_dropping(call, state):
    call(state)
    return call(state)


def drops_after_keeping(call, state):
    _, kept = call(state)
    y, _ = call(kept)
    return y, kept


def keeps_the_first_of_two(call, state):
    _, first = call(state)
    y, _ = call(state)
    return y, first


def drops_before_a_loop(call, state):
    call(state)
    return jax.lax.scan(lambda s, _: call(s)[::-1], state, None, 2)[::-1]


@pytest.mark.parametrize(
    ("calls", "y", "count"),
    [
        (drops, 0, 0),
        (drops_twice, 0, 0),
        (keeps_after_dropping, 0, 1),
        (drops_after_keeping, 1, 1),
        (keeps_the_first_of_two, 0, 1),
        (drops_before_a_loop, [0, 1], 2),
    ],
)
def test_state_that_a_block_drops_is_as_it_was(calls, y, count):
    graph, _, params = start()
    model = block_of(calls)(graph.child("of"), Tally(graph.child("tally")))
    x = jnp.zeros(())
    _, params = model(params, x)
    path = "model", "tally", "count"
    params = params.update({path: jnp.zeros(())})
    got, after = model(params, x)
    np.testing.assert_array_equal(got, y)
    assert after[path].value == count


def test_state_that_is_dropped_is_that_of_another_place():
    graph, _, params = start()
    tally = Tally(graph.child("tally"))
    kept = bx.Residual(graph.child("kept"), tally)
    model = bx.Series(
        graph.child("all"), [kept, block_of(drops)(graph.child("of"), tally), tally]
    )
    x = jnp.zeros(())
    _, params = model(params, x)
    path = "model", "tally", "count"
    y, after = model(params.update({path: jnp.zeros(())}), x)
    assert (y, after[path].value) == (0 + 1 + 1, 2)
