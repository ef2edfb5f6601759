"""Surgery on modules: those of initialized layers, weights that are computed, a look inside."""

from __future__ import annotations

import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mlax.graph as bx
from mlax import block, nn, surgery

X: Any = np.random.default_rng(0).normal(size=(2, 5, 8)).astype(np.float32)


class Net(bx.Module):
    def __init__(self, graph: bx.Graph, rng: bx.Rng, **more: Any) -> None:
        super().__init__(graph)
        self.lstm: Any = None
        self.up: Any = bx.Linear(graph.child("up"), output_size=8, rng=rng)
        self.encoder: Any = bx.TransformerEncoderLayer(
            graph.child("encoder"), 2, 16, rng=rng, **more
        )

    def __call__(self, params: bx.Params, x: Any, *, is_training: bool = True) -> Any:
        h, params = self.up(params, x, is_training=is_training)
        self.sow("hidden", 2.0 * h)
        return self.encoder(params, jax.nn.relu(h), is_training=is_training)


def made(**more: Any) -> tuple[bx.Graph, Net, bx.Params]:
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    net = Net(graph.child("net"), rng, **more)
    _, params = net(rng.seed(bx.Params(), seed=0), X)
    return graph, net, params.locked()


def with_lora(linear: Any) -> Any:
    weights, _, hyperparams = linear
    sizes = hyperparams.in_features, hyperparams.out_features
    layer, state, new = nn.LoRALinear.init(jax.random.key(1), *sizes, rank=2)
    return layer._replace(linear=weights), state, new


def test_other_layers_in_a_module():
    """Within a layer of layers, and in the place of a module: what is given stays as it was."""
    _, net, params = made()
    expected, _ = net(params, X)
    places = ["model/net/encoder/attention/to_query", "model/net/up"]
    assert set(places) <= set(bx.parts(net, params))
    after, changed = bx.replace(net, params, dict.fromkeys(places, with_lora))
    np.testing.assert_array_equal(after(changed, X)[0], expected)
    np.testing.assert_array_equal(net(params, X)[0], expected)
    assert type(net.up) is bx.Linear
    assert changed.is_locked
    new = set(changed) - set(params)
    assert {path[:-2] for path in new} == {
        (*net.up.path,),
        ("model", "net", "encoder", "attention", "to_query"),
    }
    assert ("model", "net", "up", "kernel") not in changed
    up = ("model", "net", "encoder", "attention", "to_query", "lora", "up")
    moved = after(changed.set(up, changed[up].value + 1.0), X)[0]
    assert not np.allclose(moved, expected)
    again, third = bx.replace(after, changed, {"model/net/up": with_other})
    assert third["model", "net", "up", "kernel"].value.shape == (8, 8)
    assert again(third, X)[0].shape == expected.shape


def with_other(_: Any) -> Any:
    return nn.Linear.init(jax.random.key(2), 8, 8)


def test_a_module_that_is_shared_is_replaced_everywhere():
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    linear = bx.Linear(graph.child("linear"), 8, rng=rng)
    net = bx.Sequential(graph.child("net"), [linear, jnp.tanh, linear])
    _, params = net(rng.seed(bx.Params(), seed=0), X)
    after, changed = bx.replace(net, params, {"model/linear": with_other})
    kernel = changed["model", "linear", "kernel"].value
    np.testing.assert_allclose(
        after(changed, X)[0], jnp.tanh(X @ kernel) @ kernel, rtol=1e-5
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model/net/encoder/attention/to_qery": with_lora}, "to_qery.*to_query"),
        (
            {"model/net/upp": with_lora},
            "no layer at 'model/net/upp'; did you mean 'model/net/up'",
        ),
        ({"model/lstm": with_lora}, "is the cell LSTM, whose steps"),
    ],
)
def test_places_that_are_not_there_are_named(changes: Any, message: str):
    graph, net, params = made()
    lstm = net.lstm = bx.LSTM(graph.child("lstm"), 8, rng=net.up.rng)
    _, params = lstm(params.unlocked(), X[:, 0], (X[:, 1], X[:, 2]))
    with pytest.raises(ValueError, match=message):
        bx.replace(net, params, changes)


def test_lora_in_the_layer_of_a_module():
    graph, net, params = made()
    expected, _ = net(params, X)
    layer = *bx.params_to_pair(net.encoder, params), net.encoder.hyperparams
    changed = surgery.replace(layer, {"attention/to_query": with_lora})
    own = [path for path in params if path[:3] == net.encoder.path]
    net.encoder = bx.FromPair(graph.child("with_lora"), changed)
    params = bx.pair_to_params(net.encoder, *changed[:2], params.unlocked().remove(own))
    y, after = net(params.locked(), X)
    np.testing.assert_array_equal(y, expected)
    assert set(after) == set(params)
    place = (*net.encoder.path, "attention", "to_query", "lora", "up")
    assert params[place].trainable
    # Freezing is a matter of paths.
    for path in params:
        params = params.mark(path, trainable="lora" in path)
    trained, frozen = params.locked().split()
    assert set(trained) == {place, (*place[:-1], "down")}

    def loss(trained: bx.Params) -> Any:
        return jnp.mean(net(trained.merge(frozen), X)[0] ** 2)

    slopes = jax.jit(jax.grad(loss))(trained)
    assert np.abs(slopes[place].value).max() > 0


def test_a_module_of_a_pair():
    graph, net, params = made(dropout_rate=0.5)
    layer = *bx.params_to_pair(net.encoder, params), net.encoder.hyperparams
    rng = bx.Rng(graph.child("other"))
    module = bx.FromPair(graph.child("same"), layer, rng=rng)
    own = bx.pair_to_params(module, *layer[:2], rng.seed(bx.Params(), seed=1))
    y, after = module(own.locked(), X, is_training=False, mask=np.ones((5, 5), bool))
    expected, _ = block.TransformerEncoderLayer.fwd(X, *layer, True)
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)
    assert module.hyperparams is layer[2]
    jax.tree.map(
        np.testing.assert_array_equal, bx.params_to_pair(module, own), layer[:2]
    )
    # In training the Rng counts, and each call draws anew.
    first, after = module(own.locked(), X)
    second, _ = module(after, X)
    assert not np.array_equal(first, second)
    again = pickle.loads(pickle.dumps(module))
    np.testing.assert_array_equal(again(own.locked(), X, is_training=False)[0], y)
    # In a block, alone and stacked.
    series = bx.Series(graph.child("series"), [net.up, module])
    both = params.merge(own).locked()
    hidden, _ = net.up(both, X)
    np.testing.assert_array_equal(
        series(both, X, is_training=False)[0],
        module(both, hidden, is_training=False)[0],
    )


def test_a_state_of_a_pair_changes():
    layer = nn.BatchNorm.init(jax.random.key(0), 8, True)
    graph = bx.Graph("model")
    module = bx.FromPair(graph.child("norm"), layer)
    params = bx.pair_to_params(module, *layer[:2])
    assert not params["model", "norm", "mean"].trainable
    y, after = module(params.locked(), X)
    expected, state = nn.BatchNorm.fwd(X, *layer)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(after["model", "norm", "mean"].value, state.mean)


def test_parameters_of_a_pair_are_given():
    layer = nn.Linear.init(jax.random.key(0), 8, 3)
    module = bx.FromPair(bx.Graph("model").child("linear"), layer)
    with pytest.raises(
        KeyError, match="put those of the layer into params: pair_to_pa"
    ):
        module(bx.Params(), X)
    other = nn.Linear.init(jax.random.key(0), 8, 4)
    with pytest.raises(ValueError, match=r"must be float32\[8,3\]|\[8, 3\]"):
        bx.pair_to_params(module, *other[:2])
    params = bx.pair_to_params(module, *layer[:2])
    with pytest.raises(TypeError, match="no layer takes the keyword input 'mask'"):
        module(params, X, mask=None)


def test_weights_of_modules_are_computed():
    graph, net, _ = made()
    rng = bx.Rng(graph.child("other"))
    norms = {
        "up/kernel": bx.SpectralNorm(graph.child("spectral"), rng=rng),
        "encoder/attention/to_query/kernel": bx.WeightNorm(
            graph.child("weight"), rng=rng
        ),
    }
    model = bx.Reparametrized(graph.child("normed"), net, norms)
    seeded = rng.seed(net.up.rng.seed(bx.Params(), seed=0), seed=1)
    y, params = model(seeded, X)
    assert ("model", "spectral", "vector") in params
    kernel = params["model", "net", "up", "kernel"].value

    @jax.jit
    def apply(params: bx.Params, x: Any) -> Any:
        return model(params, x)

    y, after = apply(params.locked(), X)
    assert set(after) == set(params)
    np.testing.assert_array_equal(after["model", "net", "up", "kernel"].value, kernel)
    # The same as with pairs.
    divided, _ = norms["up/kernel"](params, kernel)
    place = ("model", "net", "encoder", "attention", "to_query", "kernel")
    unit, _ = norms["encoder/attention/to_query/kernel"](params, params[place].value)
    plain = params.update({("model", "net", "up", "kernel"): divided, place: unit})
    np.testing.assert_allclose(y, net(plain.locked(), X)[0], rtol=1e-5, atol=1e-5)
    moved = after["model", "spectral", "vector"].value
    assert not np.array_equal(moved, params["model", "spectral", "vector"].value)
    _, still = model(params.locked(), X, is_training=False)
    np.testing.assert_array_equal(
        still["model", "spectral", "vector"].value,
        params["model", "spectral", "vector"].value,
    )


def test_computed_weights_in_a_repeat():
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    linear = bx.Linear(graph.child("linear"), output_size=8, rng=rng)
    norm = bx.SpectralNorm(graph.child("norm"), rng=rng)
    normed = bx.Reparametrized(graph.child("normed"), linear, {"kernel": norm})
    model = bx.Repeat(graph.child("repeat"), normed, 3)
    _, params = model(rng.seed(bx.Params(), seed=0), X)
    kernels = params["model", "linear", "kernel"].value
    vectors = params["model", "norm", "vector"].value
    assert kernels.shape == (3, 8, 8)
    again, after = model(params.locked(), X)
    x = X
    for kernel, vector, bias in zip(
        kernels, vectors, params["model", "linear", "bias"].value, strict=True
    ):
        state = nn.SpectralNorm.SpectralNormNonTrainables(vector)
        divided, _ = nn.SpectralNorm.fwd(kernel, None, state, norm.hyperparams)
        x = x @ divided + bias
    np.testing.assert_allclose(again, x, rtol=1e-4, atol=1e-5)
    assert after["model", "norm", "vector"].value.shape == (3, 8)


def test_what_cannot_be_computed():
    graph, net, params = made()
    norm = bx.WeightNorm(graph.child("norm"))
    model = bx.Reparametrized(graph.child("wrong"), net.up, {"kernels": norm})
    with pytest.raises(ValueError, match="no weight 'kernels'; it has kernel, bias"):
        model(params, X)
    with pytest.raises(TypeError, match="kernel must be a module of a graph"):
        bx.Reparametrized(graph.child("more"), net.up, {"kernel": jnp.ones(3)})  # type: ignore[dict-item]


def test_outputs_of_modules():
    _, net, params = made()
    look = jax.jit(bx.recorded(net))
    (y, outputs), _ = look(params, X)
    expected, _ = net(params, X)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    assert set(outputs) == {
        "model/net",
        "model/net/up",
        "model/net/hidden",
        "model/net/encoder",
    }
    hidden, _ = net.up(params, X)
    np.testing.assert_allclose(outputs["model/net/up"], hidden, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        outputs["model/net/hidden"], 2.0 * hidden, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_array_equal(outputs["model/net/encoder"], y)
    (_, some), _ = bx.recorded(net, [net.up.path])(params, X)
    assert set(some) == {"model/net/up"}
    (_, some), _ = bx.recorded(net, lambda path: path[-1] == "hidden")(params, X)
    assert set(some) == {"model/net/hidden"}


def test_outputs_are_those_of_the_call_and_not_of_what_creates():
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    net = Net(graph.child("net"), rng)
    model = bx.Sequential(graph.child("model"), [net, jax.nn.relu, net.up])
    series = bx.Series(graph.child("series"), [net, net.up])
    for module in (model, series):
        (_, outputs), params = bx.recorded(module)(rng.seed(bx.Params(), seed=0), X)
        first, second = outputs["model/net/up"]
        np.testing.assert_allclose(first, net.up(params, X)[0], rtol=1e-5, atol=1e-6)
        assert second.shape == first.shape
        assert outputs["model/net/encoder"].shape == X.shape


def test_what_runs_in_a_loop_is_left_out():
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    linear = bx.Linear(graph.child("linear"), output_size=8, rng=rng)
    model = bx.Repeat(graph.child("repeat"), linear, 3)
    _, params = model(rng.seed(bx.Params(), seed=0), X)
    (y, outputs), _ = bx.recorded(model)(params.locked(), X)
    assert set(outputs) == {"model/repeat"}
    np.testing.assert_array_equal(outputs["model/repeat"], y)
    with pytest.raises(
        KeyError, match="no output of model/linear: it is not called, or"
    ):
        bx.recorded(model, [linear.path])(params.locked(), X)


def test_nobody_looks():
    _, net, params = made()
    (_, outputs), _ = bx.recorded(net)(params, X)
    before = len(outputs)
    net(params, X)
    assert len(outputs) == before
