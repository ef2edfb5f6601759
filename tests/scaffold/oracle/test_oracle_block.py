"""Blocks run initialized layers, split keys among them, and thread their states."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle_library import spec

KEY = jax.random.key(3)
X = jnp.asarray(np.random.default_rng(0).normal(size=(2, 5, 4)), jnp.float32)


def layer(place: str, *args: Any, key: jax.Array = KEY, **kwargs: Any) -> Any:
    made = spec(f"nn/{place}")(*args, **kwargs)
    made.initialize(key)
    return made


def test_series_runs_layers_in_order_and_keeps_their_states():
    first, norm = layer("linear", 4, 3), layer("batch_norm", 3, channel_last=True)
    series = spec("block/series")([first.initialized, norm.initialized])
    y = series(X, training=True)
    np.testing.assert_allclose(y, norm(first(X), training=True), rtol=1e-6)
    np.testing.assert_array_equal(
        series.non_trainables["layers"][1]["mean"], norm.non_trainables["mean"]
    )


def test_a_loop_splits_its_key_among_the_layers():
    drop = spec("nn/dropout")(0.5)
    series = spec("block/series")([drop.initialized, drop.initialized])
    first, second = jax.random.split(KEY, 2)
    expected = drop(drop(X, True, first), True, second)
    np.testing.assert_array_equal(series(X, True, KEY), expected)


def test_parallel_gives_each_layer_its_input():
    one, two = layer("linear", 4, 3), layer("linear", 4, 2)
    parallel = spec("block/parallel")([one.initialized, two.initialized])
    y = parallel([X, 2 * X])
    np.testing.assert_array_equal(y[0], one(X))
    np.testing.assert_array_equal(y[1], two(2 * X))
    with pytest.raises(ValueError, match="one input for each layer"):
        parallel([X])


def test_residual_adds_its_input_and_hands_its_key_on():
    drop = spec("nn/dropout")(0.5)
    residual = spec("block/residual")(drop.initialized)
    np.testing.assert_array_equal(residual(X, True, KEY), X + drop(X, True, KEY))


def test_blocks_nest():
    linear = layer("linear", 4, 4)
    inner = spec("block/residual")(linear.initialized)
    outer = spec("block/series")([inner.initialized, inner.initialized])
    once = X + linear(X)
    np.testing.assert_allclose(outer(X), once + linear(once), rtol=1e-6)


def stacked(layers: list[Any]) -> tuple[Any, Any, Any]:
    trees = [(one.trainables, one.non_trainables) for one in layers]
    weights, states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
    return weights, states, layers[0].initialized[2]


def test_repeat_is_a_series_of_layers_with_weights_of_their_own():
    keys = jax.random.split(KEY, 3)
    layers = [layer("batch_norm", 4, channel_last=True, key=k) for k in keys]
    for i, one in enumerate(layers):
        one.load(
            {k: v + 0.1 * i for k, v in one.trainables.items()}, one.non_trainables
        )
    repeat = spec("block/repeat")(stacked(layers), 3)
    y = repeat(X, training=True)
    expected = X
    for one in layers:
        expected = one(expected, training=True)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    means = jnp.stack([one.non_trainables["mean"] for one in layers])
    states = repeat.non_trainables["layer"]["mean"]
    np.testing.assert_allclose(states, means, rtol=1e-5, atol=1e-6)


def test_repeat_draws_a_key_for_each_turn():
    drop = spec("nn/dropout")(0.5)
    repeat = spec("block/repeat")(drop.initialized, 2)
    expected = X
    for key in jax.random.split(KEY, 2):
        expected = drop(expected, True, key)
    np.testing.assert_array_equal(repeat(X, True, KEY), expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 5])
def test_recurrent_runs_the_cell_along_time(reverse, unroll):
    cell = layer("lstm_cell", 4, 3)
    recurrent = spec("block/recurrent")(
        cell.initialized, reverse=reverse, unroll=unroll, return_carry=True
    )
    y, carry = recurrent(X)
    expected: list[Any] = [None] * 5
    state = cell.initial_carry((2, 4), X.dtype)
    for t in reversed(range(5)) if reverse else range(5):
        expected[t], state = cell((X[:, t], state))
    np.testing.assert_allclose(y, jnp.stack(expected, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(carry, state, rtol=1e-5, atol=1e-6)


def test_recurrent_starts_anew_where_it_is_reset():
    recurrent = spec("block/recurrent")(layer("lstm_cell", 4, 3).initialized)
    reset = jnp.zeros((2, 5), bool).at[:, 2].set(True)
    y = recurrent(X, reset=reset)
    np.testing.assert_allclose(y[:, :2], recurrent(X[:, :2]), rtol=1e-5)
    np.testing.assert_allclose(y[:, 2:], recurrent(X[:, 2:]), rtol=1e-5)


def test_gradients_of_a_recurrent_layer_accumulate_in_the_dtype_of_x():
    cell = layer("lstm_cell", 4, 3)
    recurrent = spec("block/recurrent")(cell.initialized)
    x = X.astype(jnp.bfloat16)

    def run(weights: Any) -> Any:
        recurrent.load({"cell": weights})
        return recurrent(x)

    def backward(weights: Any) -> Any:
        y, vjp = jax.vjp(run, weights)
        return vjp(jnp.ones_like(y))

    (scan,) = [
        equation
        for equation in jax.make_jaxpr(backward)(cell.trainables).eqns
        if equation.primitive.name == "scan" and equation.params["reverse"]
    ]
    dtypes = {v.aval.dtype for v in scan.outvars}
    assert dtypes == {jnp.dtype("bfloat16")}
