"""Graphs and modules: places, keys, creation, and errors that say what to do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start
from jax.nn.initializers import ones

import mlax.graph as bx
from mlax import nn
from mlax.graph._block import BlockModule
from mlax.graph._layer import LayerModule
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.reader.checks.names import OF_HYPERPARAMS
from mlax_scaffold.reader.keywords import RESERVED_IN_MODULES


class Scale(bx.Module):
    """A module of one's own, with a weight and a counter."""

    def __init__(self, graph: bx.Graph):
        super().__init__(graph)

    def __call__(self, params: bx.Params, x: jax.Array):
        scale, params = self.get_param(params, "scale", x.shape[-1:], ones)
        return scale * x, params


class Forgetful(bx.Module):
    """A module that forgets its base class."""

    def __init__(self, graph: bx.Graph):
        self.size = 3

    def __call__(self, params: bx.Params, x: jax.Array):
        return self.get_param(params, "scale", x.shape[-1:], ones)


def test_errors_of_the_graph_say_what_to_do():
    graph = bx.Graph("model")
    node = graph.child("scale")
    Scale(node)
    with pytest.raises(ValueError, match=r"a child 'scale' already; keep the node"):
        graph.child("scale")
    with pytest.raises(ValueError, match=r"is that of a Scale; pass a node of its own"):
        Scale(node)
    with pytest.raises(ValueError, match=r"pass graph.child\(...\) and not"):
        Scale(graph)
    with pytest.raises(TypeError, match="must be a node of a graph"):
        Scale("scale")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"super\(\).__init__\(graph\) first"):
        Forgetful(graph.child("forgetful"))(bx.Params(), jnp.ones(3))
    with pytest.raises(ValueError, match="empty"):
        graph.child("")
    with pytest.raises(TypeError, match="a string"):
        bx.Graph(1)  # type: ignore[arg-type]


def test_graph_and_modules_are_static():
    graph, rng, params = start()
    scale = Scale(graph.child("scale"))
    assert len({scale, rng, graph}) == 3
    call = jax.jit(lambda module, params, x: module(params, x)[0], static_argnums=0)
    assert (call(scale, params, jnp.ones(2)) == 1).all()
    with pytest.raises(TypeError):
        jax.jit(lambda module: 1)(scale)


def test_a_key_is_folded_from_seed_and_counter():
    _, rng, params = start(7)
    key, params = rng(params)
    assert key == jax.random.fold_in(jax.random.key(7), 0)
    key, params = rng(params)
    assert key == jax.random.fold_in(jax.random.key(7), 1)
    again = rng.seed(params, counter=1)
    assert rng(again)[0] == key
    assert rng.get_counter(rng.seed(params, seed=jax.random.key(3))) == 2
    with pytest.raises(ValueError, match=r"rng.seed\(params, seed=...\)"):
        rng(bx.Params())
    with pytest.raises(TypeError, match="an integer or a key"):
        rng.seed(params, seed=0.5)
    with pytest.raises(RuntimeError, match="locked"):
        rng.seed(bx.Params().locked(), seed=0)


def test_keys_follow_the_declarations_whatever_ignores_them():
    kernels = []
    for initializer in (jax.nn.initializers.normal(), ones):
        graph, rng, params = start()
        first = bx.Linear(
            graph.child("first"), 4, bias_initializer=initializer, rng=rng
        )
        second = bx.Linear(graph.child("second"), 4, use_bias=False, rng=rng)
        third = bx.Linear(graph.child("third"), 4, rng=rng)
        for module in (first, second, third):
            _, params = module(params, jnp.ones((1, 3)))
        kernels.append(params["model", "third", "kernel"].value)
        assert rng.get_counter(params) == 6
    np.testing.assert_array_equal(*kernels)


def test_sub_layers_have_paths_below():
    graph, rng, params = start()
    attention = bx.MultiHeadAttention(graph.child("attention"), heads=2, rng=rng)
    _, params = attention(params, jnp.ones((1, 3, 4)))
    assert ("model", "attention", "to_query", "kernel") in params
    with pytest.raises(ValueError, match="already"):
        attention.graph.child("to_query")


def test_weights_have_initializers_dtypes_and_metadata():
    graph, rng, params = start()
    linear = bx.Linear(
        graph.child("linear"),
        4,
        kernel_initializer=ones,
        dtype="bfloat16",
        metadata={"kernel": {"tag": "a"}},
        rng=rng,
    )
    _, params = linear(params, jnp.ones((1, 3)))
    kernel, bias = (params[linear.param_path(name)] for name in ("kernel", "bias"))
    assert kernel.value.dtype == bias.value.dtype == jnp.bfloat16
    assert (kernel.value == 1).all()
    assert (kernel.metadata, bias.metadata) == ({"tag": "a"}, {})


def test_state_is_not_trainable_and_follows_training():
    graph, rng, params = start()
    norm = bx.BatchNorm(graph.child("norm"), channel_last=True, momentum=0.5, rng=rng)
    _, params = norm(params, jnp.ones((4, 3)), is_training=False)
    trainable, _ = params.locked().split()
    assert list(trainable) == [norm.param_path("scale"), norm.param_path("bias")]
    _, trained = norm(params, jnp.ones((4, 3)))
    assert (trained[norm.param_path("mean")].value == 0.5).all()
    assert (params[norm.param_path("mean")].value == 0).all()


def test_errors_of_modules_say_what_to_do():
    graph, rng, params = start()
    with pytest.raises(ValueError, match="Linear: output_size must be an integer"):
        bx.Linear(graph.child("a"), output_size=0, rng=rng)
    with pytest.raises(TypeError, match="rng must be an Rng"):
        bx.Linear(graph.child("b"), 3, rng=jax.random.key(0))  # type: ignore[arg-type]
    linear = bx.Linear(graph.child("c"), 3)
    with pytest.raises(ValueError, match=r"pass rng=..., an Rng"):
        linear(params, jnp.ones((1, 2)))
    linear = bx.Linear(graph.child("d"), 3, rng=rng)
    with pytest.raises(ValueError, match="call it once"):
        linear.hyperparams  # noqa: B018
    with pytest.raises(ValueError, match="has no axis -1"):
        linear(params, jnp.ones(()))
    _, params = linear(params, jnp.ones((1, 2)))
    with pytest.raises(ValueError, match=r"must have shape \(5, 3\)"):
        linear(params, jnp.ones((1, 5)))
    dropout = bx.Dropout(graph.child("e"), 0.5)
    with pytest.raises(ValueError, match=r"rng=... to its module"):
        dropout(params, jnp.ones(3), is_training=True)
    with pytest.raises(TypeError, match="is_training is traced"):
        jax.jit(lambda flag: dropout(params, jnp.ones(3), is_training=flag))(True)


def test_a_changed_module_is_seen_where_it_is_not_compiled():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 3, rng=rng)
    compiled = jax.jit(linear)
    y, params = compiled(params, jnp.ones((1, 2)))
    linear.use_bias = False
    params = params.set(linear.param_path("bias"), jnp.ones(3))
    np.testing.assert_allclose(linear(params, jnp.ones((1, 2)))[0], y, rtol=1e-6)


def test_low_rank_weights_are_added_to_a_trained_model():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 4, rng=rng)
    y, params = linear(params, jnp.ones((1, 3)))
    trained = params.locked()
    down = bx.Linear(graph.child("down"), 2, use_bias=False, rng=rng)
    up = bx.Linear(
        graph.child("up"),
        4,
        use_bias=False,
        kernel_initializer=jax.nn.initializers.zeros,
        rng=rng,
    )

    def adapted(params, x):
        y, params = linear(params, x)
        low, params = down(params, x)
        delta, params = up(params, low)
        return y + delta, params

    z, params = adapted(trained.unlocked(), jnp.ones((1, 3)))
    np.testing.assert_array_equal(y, z)
    added, rest = params.locked().split(lambda path, _: path not in trained)
    assert [path[1:] for path in added] == [("down", "kernel"), ("up", "kernel")]
    gradients = jax.grad(lambda a: adapted(a.merge(rest), jnp.ones((1, 3)))[0].sum())(
        added
    )
    assert (gradients[up.param_path("kernel")].value != 0).all()


def test_two_models_share_params_by_path_and_donate_them():
    def make(rate):
        graph, rng, params = start()
        layers = [
            bx.Linear(graph.child("linear"), 4, rng=rng),
            bx.Dropout(graph.child("drop"), rate, rng=rng),
        ]
        return bx.Sequential(graph.child("all"), [*layers, jax.nn.relu]), params

    actor, params = make(0.0)
    learner, _ = make(0.5)
    y, params = actor(params, jnp.ones((2, 3)), is_training=False)
    params = params.locked()
    z, _ = learner(params, jnp.ones((2, 3)), is_training=False)
    np.testing.assert_array_equal(y, z)

    @jax.jit(donate_argnames=["params"])
    def train(params, x):
        _, params = learner(params, x)
        return params

    old = params[("model", "linear", "kernel")].value
    params = train(params, jnp.ones((2, 3)))
    assert old.is_deleted()
    assert params["model", "rng", "counter"].value == 3


def test_pairs_are_params_and_params_pairs():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 4, rng=rng)
    x = jnp.ones((2, 3))
    y, params = linear(params, x)
    trainables, state = bx.params_to_pair(linear, params)
    np.testing.assert_array_equal(
        nn.Linear.fwd(x, trainables, state, linear.hyperparams)[0], y
    )
    made = nn.Linear.init(jax.random.key(5), 3, 4)
    other = bx.pair_to_params(linear, made[0], made[1], params.locked())
    np.testing.assert_array_equal(linear(other, x)[0], nn.Linear.fwd(x, *made)[0])
    with pytest.raises(RuntimeError, match="locked"):
        bx.pair_to_params(linear, made[0], made[1], bx.Params().locked())


@pytest.mark.parametrize("base", [LayerModule, BlockModule])
def test_no_field_of_a_spec_hides_what_a_module_has(base):
    names = {name for name in dir(base) if not name.startswith("_")}
    assert names <= RESERVED_IN_MODULES | RESERVED | OF_HYPERPARAMS
