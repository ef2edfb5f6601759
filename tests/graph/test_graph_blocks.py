"""Blocks of modules, recurrent modules, and loops."""

from __future__ import annotations

import functools
from inspect import signature

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start
from hypothesis import given, settings
from hypothesis import strategies as st

import mlax.graph as bx
from mlax import block
from mlax.graph._recurrent import RecurrentModule


class Counting(bx.Module):
    """A module of one's own: a linear map, dropout, and the number of its calls in training."""

    def __init__(self, graph: bx.Graph, rng: bx.Rng, size: int):
        super().__init__(graph)
        self.linear = bx.Linear(graph.child("linear"), size, rng=rng)
        self.dropout = bx.Dropout(graph.child("dropout"), 0.5, rng=rng)

    def __call__(self, params, x, is_training=False):
        zero = jax.nn.initializers.zeros
        count, params = self.get_param(params, "count", (), zero, trainable=False)
        if is_training:
            params = self.set_param(params, "count", count + 1)
        y, params = self.linear(params, x)
        return self.dropout(params, y, is_training=is_training)


def series(graph: bx.Graph, rng: bx.Rng) -> bx.Series:
    """Modules of layers, of blocks and of one's own in series."""
    inner = bx.MLP(graph.child("inner"), 4, [5], dropout_rate=0.5, rng=rng)
    return bx.Series(
        graph.child("series"),
        [
            bx.Linear(graph.child("linear"), 8, rng=rng),
            bx.BatchNorm(graph.child("norm"), channel_last=True, rng=rng),
            bx.F(graph.child("relu"), jax.nn.relu),
            Counting(graph.child("own"), rng, 4),
            bx.Residual(graph.child("residual"), inner),
            bx.Repeat(graph.child("repeat"), Counting(graph.child("again"), rng, 4), 3),
        ],
    )


def test_a_block_creates_the_parameters_of_its_modules():
    graph, rng, params = start()
    model = series(graph, rng)
    x = jax.random.normal(jax.random.key(1), (6, 3))
    y, params = model(params, x, is_training=False)
    infer = jax.jit(functools.partial(model, is_training=False))
    again, after = infer(params.locked(), x)
    np.testing.assert_allclose(y, again, rtol=1e-5)
    assert jax.tree.structure(after) == jax.tree.structure(params.locked())
    kernel = params["model", "again", "linear", "kernel"].value
    assert kernel.shape == (3, 4, 4)
    assert not (kernel[0] == kernel[1]).any()


def test_a_block_threads_state_and_draws():
    graph, rng, params = start()
    model = series(graph, rng)
    x = jax.random.normal(jax.random.key(1), (6, 3))
    params = model(params, x, is_training=False)[1].locked()
    train = jax.jit(model.__call__)
    y, after = train(params, x)
    z, later = train(after, x)
    assert (y != z).any(), "the counter gives another key"
    assert later["model", "own", "count"].value == 2
    np.testing.assert_array_equal(later["model", "again", "count"].value, [2, 2, 2])
    mean = ("model", "norm", "mean")
    assert (after[mean].value != params[mean].value).any()
    seed, counter = rng.paths
    assert after[seed].value == params[seed].value
    assert after[counter].value == params[counter].value + 1
    assert jax.tree.structure(later) == jax.tree.structure(params)


def test_a_block_of_modules_is_the_block_of_layers():
    graph, rng, params = start()
    layers = [
        bx.Linear(graph.child("a"), 4, rng=rng),
        bx.Dropout(graph.child("b"), 0.5, rng=rng),
    ]
    model = bx.Series(graph.child("series"), layers)
    x = jnp.ones((2, 3))
    params = model(params, x)[1].locked()
    key, _ = rng(params)
    y, _ = model(params, x, is_training=True)
    pair = bx.params_to_pair(model, params)
    z, _ = block.Series.fwd(x, pair[0], pair[1], model.hyperparams, key=key)
    np.testing.assert_array_equal(y, z)
    weights, state = jax.tree.map(jnp.zeros_like, pair)
    back = bx.pair_to_params(model, weights, state, params)
    assert jax.tree.structure(back) == jax.tree.structure(params)
    assert (back["model", "a", "kernel"].value == 0).all()


@pytest.mark.parametrize("stateful", [False, True])
def test_layers_without_state_have_none_together(stateful: bool):
    """One None for all of them; beside a layer that has state, one for each."""
    graph, rng, params = start()
    layers: list[bx.Module] = [bx.F(graph.child(n), jax.nn.relu) for n in "ab"]
    if stateful:
        layers.append(bx.BatchNorm(graph.child("norm"), rng=rng))
    model, x = bx.Series(graph.child("series"), layers), jnp.ones((2, 3))
    params = model(params, x, is_training=True)[1]
    weights, state = bx.params_to_pair(model, params)
    found = state.layers
    assert found[:2] == (None, None) if stateful else found is None
    _, after = block.Series.fwd(x, weights, state, model.hyperparams)
    assert jax.tree.structure(after) == jax.tree.structure(state)
    back = bx.pair_to_params(model, weights, after, params)
    assert jax.tree.structure(back) == jax.tree.structure(params)


class Masked(bx.Module):
    """A module of one's own with a keyword input."""

    def __call__(self, params, x, *, mask=None):
        return x if mask is None else jnp.where(mask, x, 0.0), params


def test_blocks_hand_keyword_inputs_to_the_modules_that_take_them():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 3, rng=rng)
    inner = bx.Residual(graph.child("inner"), Masked(graph.child("masked")))
    model = bx.Series(graph.child("series"), [linear, inner])
    assert model.keyword_inputs == ("kernel_mask", "mask")
    x, mask = jnp.ones((2, 3)), jnp.array([True, False, True])
    y, params = model(params, x, mask=mask)
    h, _ = linear(params.locked(), x)
    np.testing.assert_allclose(y, h + jnp.where(mask, h, 0.0), rtol=1e-6)
    with pytest.raises(TypeError, match="no layer takes the keyword input 'bias'"):
        model(params, x, bias=mask)
    chain = bx.Sequential(graph.child("chain"), [linear, jnp.negative, inner])
    assert chain.keyword_inputs == ("kernel_mask", "mask")
    z, _ = chain(params.locked(), x, mask=mask)
    np.testing.assert_allclose(z, -y, rtol=1e-6)
    with pytest.raises(TypeError, match=r"Sequential: no layer takes .* 'bias'"):
        chain(params, x, bias=mask)


def test_locked_params_refuse_the_modules_of_a_block():
    graph, rng, params = start()
    model = series(graph, rng)
    with pytest.raises(bx.LockedError, match="linear/kernel"):
        model(params.locked(), jnp.ones((6, 3)))
    with pytest.raises(TypeError, match=r"layers\[0\] must be a module"):
        bx.Series(graph.child("other"), [jax.nn.relu])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"layers\[0\] must be a module or a function"):
        bx.Sequential(graph.child("third"), [3])  # type: ignore[list-item]


@pytest.mark.parametrize("is_static", [True, False])
def test_a_recurrent_module_runs_a_sequence_as_its_steps(is_static: bool):
    graph, rng, params = start()
    lstm = bx.LSTM(graph.child("lstm"), hidden_size=5, is_static=is_static, rng=rng)
    x = jax.random.normal(jax.random.key(1), (2, 4, 3))
    (ys, last), params = lstm.apply(params, x)
    params = params.locked()
    state, _ = lstm.initial_state(params, x[:, 0])
    for i in range(4):
        (y, state), params = lstm(params, x[:, i], state)
        np.testing.assert_allclose(y, ys[:, i], rtol=1e-6, atol=1e-7)
    for a, b in zip(last, state, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    recurrent = bx.Recurrent(graph.child("recurrent"), lstm)
    np.testing.assert_allclose(recurrent(params, x)[0], ys, rtol=1e-6, atol=1e-7)
    with pytest.raises(ValueError, match=r"\(batch, time, ...\)"):
        lstm.apply(params, x[0, 0])


CELLS = sorted(RecurrentModule.__subclasses__(), key=lambda cell: cell.__name__)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.__name__)
def test_every_cell_runs_a_sequence(cell: type):
    graph, rng, params = start()
    sizes = {"hidden_size": 3, "spatial_dims": 1, "channels": 3, "kernel_size": 3}
    given = {n: v for n, v in sizes.items() if n in signature(cell).parameters}
    module = cell(graph.child("cell"), **given, rng=rng)
    features = (3, 5) if "channels" in given else (3,)
    x = jax.random.normal(jax.random.key(1), (2, 4, *features))
    (ys, last), params = module.apply(params, x)
    state, _ = module.initial_state(params, x[:, 0])
    step = jax.jit(module.__call__)
    for i in range(4):
        (y, state), _ = step(params.locked(), x[:, i], state)
        np.testing.assert_allclose(y, ys[:, i], rtol=1e-5, atol=1e-6)
    assert jax.tree.structure(last) == jax.tree.structure(state)


@pytest.mark.parametrize("is_static", [True, False])
def test_weights_are_cast_before_the_loop(is_static: bool):
    graph, rng, params = start()
    lstm = bx.LSTM(graph.child("lstm"), hidden_size=5, is_static=is_static, rng=rng)
    x = jnp.ones((2, 4, 3), jnp.bfloat16)
    ((ys, _), params) = lstm.apply(params, x)
    assert ys.dtype == jnp.bfloat16
    assert params[lstm.param_path("kernel")].value.dtype == jnp.float32


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 4), st.booleans(), st.booleans())
def test_scans_agree(steps: int, reverse: bool, tree: bool):
    xs = jnp.arange(2.0 * steps).reshape(steps, 2)

    def step(carry, x):
        x = sum(x) if tree else x
        return carry * 0.5 + x, (carry, x)

    given = (step, jnp.zeros(2), (xs, xs) if tree else xs)
    static = bx.static_scan(*given, reverse=reverse)
    dynamic = bx.dynamic_scan(*given, reverse=reverse)
    assert jax.tree.structure(static) == jax.tree.structure(dynamic)
    for a, b in zip(jax.tree.leaves(static), jax.tree.leaves(dynamic), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    with pytest.raises(ValueError, match="one length"):
        bx.static_scan(step, 0.0, None)


@pytest.mark.parametrize("channel_last", [False, True])
def test_channels_of_a_convolution_are_those_of_the_first_input(channel_last: bool):
    graph, rng, params = start()
    options = {"kernel_size": 2, "channel_last": channel_last, "rng": rng}
    conv = bx.Conv(graph.child("conv"), 2, out_channels=4, **options)
    shape = (2, 7, 6, 5, 3) if channel_last else (2, 7, 3, 6, 5)
    y, params = conv(params, jnp.ones(shape))
    kernel = params[conv.param_path("kernel")].value
    assert kernel.shape == ((4, 2, 2, 3) if channel_last else (4, 3, 2, 2))
    assert y.shape == ((2, 7, 6, 5, 4) if channel_last else (2, 7, 4, 6, 5))
    local = bx.ConvLocal(graph.child("local"), 2, out_channels=4, **options)
    z, params = local(params, jnp.ones(shape))
    assert local.hyperparams.input_size == (6, 5)
    assert z.shape == y.shape
    with pytest.raises(ValueError, match=r"input_size is not given, .* no axis -"):
        bx.ConvLocal(graph.child("small"), 2, 4, in_channels=3, **options)(
            params, jnp.ones(shape[-1:])
        )
