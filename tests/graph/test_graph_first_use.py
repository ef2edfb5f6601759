"""What somebody new to modules meets: mistakes and their messages, and what is imported."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start
from graph_programs import run
from jax.nn.initializers import normal, zeros

import mlax.graph as bx
from mlax import nn

X = jnp.ones((2, 3))


class Loose(bx.Module):
    """A module with a weight that is drawn, and mistakes by flag."""

    def __init__(self, graph, rng=None, *, forgets=False, size=(3,)):
        super().__init__(graph)
        self.rng, self.forgets, self.size = rng, forgets, size

    def __call__(self, params, x):
        weight, params = self.get_param(params, "w", self.size, normal(), rng=self.rng)
        return x * weight if self.forgets else (x * weight, params)


def every_kind(graph: bx.Graph, rng: bx.Rng) -> list[bx.Module]:
    linear = bx.Linear(graph.child("linear"), 3, rng=rng)
    return [
        linear,
        Loose(graph.child("own"), rng),
        bx.Residual(graph.child("residual"), linear),
        bx.Sequential(graph.child("sequential"), [linear]),
    ]


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("given", [{}, X, None], ids=["dict", "array", "None"])
def test_params_come_first(kind, given):
    graph, rng, _ = start()
    with pytest.raises(TypeError, match=r"must be Params, as in\s+y, params ="):
        every_kind(graph, rng)[kind](given, X)


def test_a_generator_needs_params():
    _, rng, _ = start()
    for wrong in (rng, lambda p: rng.seed(p, seed=0), rng.get_seed):
        with pytest.raises(TypeError, match="Rng: the first argument must be Params"):
            wrong({})  # type: ignore[arg-type]
    linear = bx.LSTM(bx.Graph("a").child("b"), hidden_size=2, rng=rng)
    with pytest.raises(TypeError, match="LSTM: the first argument must be Params"):
        linear.apply({}, jnp.ones((1, 2, 3)))  # type: ignore[arg-type]


def test_messages_say_what_to_write():
    graph, rng, params = start()
    own = Loose(graph.child("own"))
    with pytest.raises(ValueError, match=r"'model/own/w' failed without a key"):
        own(params, X)
    forgets = Loose(graph.child("forgets"), rng, forgets=True)
    with pytest.raises(TypeError, match=r"must return \(y, params\), got Array"):
        bx.Sequential(graph.child("all"), [forgets])(params, X)
    with pytest.raises(TypeError, match="layers must be a sequence"):
        bx.Sequential(graph.child("one"), own)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="rng must be an Rng, got PRNGKeyArray"):
        bx.MLP(graph.child("mlp"), 2, [3], rng=jax.random.key(0))  # type: ignore[arg-type]
    linear = bx.Linear(graph.child("linear"), 3, rng=rng)
    linear(params, X)
    with pytest.raises(KeyError, match="the first call of the module returns params"):
        bx.params_to_pair(linear, params)
    with pytest.raises(TypeError, match="a mapping of paths"):
        bx.Params([1])  # type: ignore[arg-type]
    wider = Loose(graph.child("wider"), rng)
    _, params = wider(params, X)
    wider.size = (4,)
    with pytest.raises(ValueError, match=r"must have shape \(4,\), got \(3,\)"):
        wider(params, jnp.ones((2, 4)))


def test_a_result_that_was_not_taken_apart_is_no_input():
    graph, rng, params = start()
    for i, module in enumerate(every_kind(graph, rng)):
        y = module(params, X)  # type: ignore[operator]
        after = bx.Linear(graph.child(f"after_{i}"), 3, rng=rng)
        with pytest.raises(TypeError, match="take it apart, y, params = module"):
            after(params, y)
    state = bx.LSTM(graph.child("lstm"), 2, rng=rng)(params, X)
    lstm = bx.LSTM(graph.child("later"), 2, rng=rng)
    with pytest.raises(TypeError, match="LSTM: an input holds Params"):
        lstm(params, X, state)


def test_params_are_not_assigned_to():
    _, _, params = start()
    path = ("model", "rng", "counter")
    with pytest.raises(TypeError, match=r"params = params\.set"):
        params[path] = 1  # type: ignore[index]
    with pytest.raises(TypeError, match=r"params = params\.remove"):
        del params[path]  # type: ignore[attr-defined]
    for change in (params.set, params.add):
        new = path if change == params.set else (*path, "new")
        with pytest.raises(TypeError, match="got a Param; pass its value"):
            change(new, params[path])


def test_params_are_updated_with_params():
    _, rng, params = start()
    other = rng.seed(params, seed=1, counter=5).remove([("model", "rng", "seed")])
    after = params.update(other)
    assert (rng.get_counter(after), rng.get_counter(params)) == (5, 0)
    assert rng.get_seed(after) == rng.get_seed(params)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"seed": "x"}, TypeError, "seed must be an integer or a key, got 'x'"),
        ({"seed": True}, TypeError, "seed must be an integer or a key, got True"),
        ({"seed": 1.5}, TypeError, "seed must be an integer or a key, got 1.5"),
        ({"seed": jax.random.split(jax.random.key(0), 3)}, ValueError, "one key"),
        ({"counter": -1}, TypeError, "an integer of at least 0, got -1"),
        ({"counter": 1.5}, TypeError, "an integer of at least 0, got 1.5"),
        ({"counter": "x"}, TypeError, "an integer of at least 0, got 'x'"),
    ],
)
def test_seeds_and_counters_are_integers(wrong, error, message):
    _, rng, params = start()
    with pytest.raises(error, match=message):
        rng.seed(params, **wrong)


def test_a_seed_is_any_integer_or_key():
    _, rng, params = start()
    for seed in (3, np.uint8(3), jnp.int32(3), jax.random.PRNGKey(3)):
        assert rng.get_seed(rng.seed(params, seed=seed)) == jax.random.key(3)
    large = rng.get_seed(rng.seed(params, seed=2**40))
    assert large == jax.random.key(2**40)


def test_a_pair_of_another_layer_is_refused():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 3, rng=rng)
    key = jax.random.key(0)
    norm, bare = nn.LayerNorm.init(key, 3), nn.Linear.init(key, 3, 3, use_bias=False)
    with pytest.raises(ValueError, match="unexpected 'scale'"):
        bx.pair_to_params(linear, *norm[:2], params)
    bx.pair_to_params(linear, *nn.Linear.init(key, 3, 3)[:2])
    _, params = linear(params, X)
    for pair, message in (
        (norm[:2], "unexpected 'scale'; missing 'kernel'"),
        (bare[:2], "missing 'bias'"),
        ((None, nn.Linear.init(key, 3, 3)[0]), "unexpected 'kernel', 'bias'"),
        ((nn.Linear.init(key, 3, 3), None), "unexpected '0/kernel', '0/bias'"),
    ):
        with pytest.raises(ValueError, match=message):
            bx.pair_to_params(linear, *pair, params)
    block = bx.Residual(graph.child("block"), linear)
    with pytest.raises(ValueError, match="those of `init` of the block, with 'layer'"):
        bx.pair_to_params(block, *bare[:2], params)
    own = Loose(graph.child("own"), rng)
    with pytest.raises(ValueError, match=r"Loose at .* Params, as params_to_pair"):
        bx.pair_to_params(own, *bare[:2], params)
    for wrong in ((graph, params), (params, linear), (linear, {})):
        with pytest.raises(TypeError, match=r"params_to_pair\(module, params\)"):
            bx.params_to_pair(*wrong)  # type: ignore[arg-type]


class Runner(bx.Module):
    """A module of one's own whose names are those of what one may call such methods."""

    def __init__(self, graph, rng):
        super().__init__(graph)
        self.linear = bx.Linear(graph.child("linear"), 3, rng=rng)
        self.hyperparams = {"size": 3}

    def create(self):
        raise NotImplementedError

    run = trace = draws = to_pair = init = create

    def __call__(self, params, x):
        return self.linear(params, x)


def test_names_of_methods_are_those_of_the_user():
    graph, rng, params = start()
    own = Runner(graph.child("own"), rng)
    block = bx.Residual(graph.child("block"), own)
    y, params = block(params, X, is_training=True)
    np.testing.assert_array_equal(y, X + own(params, X)[0])
    pair = bx.params_to_pair(block, params)
    weights, state = jax.tree.map(jnp.zeros_like, pair)
    after = bx.pair_to_params(block, weights, state, params)
    np.testing.assert_array_equal(block(after, X)[0], X)


def test_a_key_error_says_where_one_is():
    graph, rng, params = start()
    _, params = bx.Linear(graph.child("linear"), 3, rng=rng)(params, X)
    for path, hint in {
        ("model", "linear"): "it is a node, with 'kernel', 'bias'",
        ("model", "linear", "kernal"): "did you mean 'model/linear/kernel'",
        "model/linear": "a path is a tuple of names",
    }.items():
        with pytest.raises(KeyError, match=hint):
            params[path]  # type: ignore[index]
    late = bx.Linear(graph.child("late"), 3, rng=rng)
    with pytest.raises(bx.LockedError) as error:
        late(params.locked(), X)
    assert "the new parameters 'model/late/kernel', " in str(error.value)
    assert "did you mean" not in str(error.value)


def test_initializers_get_a_dtype_and_a_key_of_their_own():
    graph, rng, params = start()
    owner = Loose(graph.child("own"), rng)
    facts = {"dtype": "float16", "rng": rng, "metadata": {"tag": 1}, "trainable": False}
    first, params = owner.get_param(params, "a", (8,), normal(), **facts)
    second, params = owner.get_param(params, "b", (8,), normal(), **facts)
    assert first.dtype == second.dtype == jnp.float16
    assert (first != second).any()
    param = params["model", "own", "a"]
    assert (param.trainable, param.metadata) == (False, {"tag": 1})
    params = owner.set_param(params, "a", second, trainable=True, metadata={"tag": 2})
    param = params["model", "own", "a"]
    assert (param.trainable, param.metadata) == (False, {"tag": 1})
    np.testing.assert_array_equal(param.value, second)


class Counting(bx.Module):
    """A module of one's own with state: how often it was called, and the last input."""

    def __init__(self, graph, keys):
        super().__init__(graph)
        self.keys = keys

    def __call__(self, params, x, is_training=False):
        count, params = self.get_param(params, "count", (), zeros, trainable=False)
        params = self.set_param(params, "count", count + 1)
        weight, params = self.get_param(params, "w", (3,), normal(), rng=self.keys())
        last, params = self.get_param(params, "last", x.shape, zeros, trainable=False)
        return x * weight + last, self.set_param(params, "last", x)


def test_a_block_creates_state_as_its_module_alone_does():
    graph, rng, params = start()
    own = Counting(graph.child("own"), lambda: rng)
    inner = bx.Series(graph.child("inner"), [own])
    block = bx.Residual(graph.child("block"), inner)
    repeated = Counting(graph.child("each"), lambda: rng)
    stack = bx.Repeat(graph.child("stack"), repeated, 2)
    y, after = block(params, X, is_training=True)
    alone, expected = own(params, X, is_training=True)
    np.testing.assert_array_equal(y, X + alone)
    for path in expected:
        assert (after[path].value == expected[path].value).all(), path
    assert after["model", "own", "count"].value == 1
    assert after.layout.changing is None
    _, after = stack(after, X)
    np.testing.assert_array_equal(after["model", "each", "count"].value, [1, 1])
    weights = [after["model", name, "w"].value for name in ("own", "each")]
    assert not (weights[0] == weights[1]).any(), "the generator went on"
    assert not (weights[1][0] == weights[1][1]).any()
    assert rng.get_counter(after) == 3


def test_scans_take_a_length():
    def step(carry, _):
        return carry + 1, carry

    for scan in (bx.static_scan, bx.dynamic_scan):
        last, ys = scan(step, jnp.zeros(()), None, length=3)
        assert last == 3
        np.testing.assert_array_equal(ys, [0, 1, 2])
        _, ys = scan(step, jnp.zeros(()), None, length=3, reverse=True)
        np.testing.assert_array_equal(ys, [2, 1, 0])
    with pytest.raises(ValueError, match="one length"):
        bx.static_scan(step, 0.0, jnp.ones(2), length=3)


def test_state_of_a_cell_comes_out_of_a_sequence():
    graph, rng, params = start()
    lstm = bx.LSTM(graph.child("lstm"), hidden_size=2, rng=rng)
    model = bx.Series(
        graph.child("all"),
        [
            bx.Recurrent(graph.child("recurrent"), lstm),
            bx.Dropout(graph.child("d"), 0.5),
        ],
        rng=rng,
    )
    params = model(params, jnp.ones((1, 4, 3)))[1].locked()
    y, after = model(params, jnp.ones((1, 4, 3)), is_training=True)
    z, later = model(after, jnp.ones((1, 4, 3)), is_training=True)
    assert (y != z).any()
    assert rng.get_counter(later) == rng.get_counter(params) + 2


def test_it_imports_jax_and_itself_only():
    program = """
import sys
import jax, jax.numpy, jax.experimental.checkify
before = {name.partition(".")[0] for name in sys.modules}
import mlax.graph
after = {name.partition(".")[0] for name in sys.modules}
print(sorted(after - before - set(sys.stdlib_module_names)))
"""
    assert run(program, devices=1).strip() == "['mlax']"


def test_everything_public_says_what_it_is():
    for name in bx.__all__:
        public = getattr(bx, name)
        assert (public.__doc__ or "").strip(), name
        for method, value in vars(public).items() if isinstance(public, type) else ():
            if not method.startswith("_") and callable(value):
                assert (value.__doc__ or "").strip(), f"{name}.{method}"
