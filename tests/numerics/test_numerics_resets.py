"""A cell, its module and a linear recurrent unit begin anew where they are told to."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mlax
import mlax.graph as bx

_RANDOM = np.random.default_rng(5)
_CELLS: dict[str, tuple[Any, dict[str, Any], tuple[int, ...]]] = {
    "SimpleCell": (mlax.nn.SimpleCell, {}, (4,)),
    "GRUCell": (mlax.nn.GRUCell, {}, (4,)),
    "MGUCell": (mlax.nn.MGUCell, {}, (4,)),
    "LSTMCell": (mlax.nn.LSTMCell, {}, (4,)),
    "ConvLSTMCell": (
        mlax.nn.ConvLSTMCell,
        {"kernel_size": 3, "channel_last": True},
        (5, 4),
    ),
}
_RESET = np.array([False, True, False])


def _carried(name: str) -> Any:
    cell, options, shape = _CELLS[name]
    sizes = (1, 4, 3) if name == "ConvLSTMCell" else (4, 3)
    layer = cell.init(jax.random.key(0), *sizes, **options, dtype=jnp.float64)
    x = jnp.asarray(_RANDOM.normal(size=(3, *shape)))
    zeros = layer[2].initial_carry(x.shape, x.dtype)
    carry = jax.tree.map(lambda z: jnp.asarray(_RANDOM.normal(size=z.shape)), zeros)
    return cell, layer, x, carry, zeros


@pytest.mark.parametrize("name", _CELLS)
def test_a_cell_begins_anew_where_it_is_reset(name):
    cell, (trainables, state, hyperparams), x, carry, zeros = _carried(name)

    @jax.jit
    def run(carry, reset=None):
        return cell.fwd((x, carry), trainables, state, hyperparams, reset=reset)[0]

    kept, begun = run(carry), run(zeros)
    for reset in (_RESET, ~_RESET, np.zeros(3, bool)):
        actual = run(carry, jnp.asarray(reset))
        jax.tree.map(
            lambda a, k, b, r=reset: np.testing.assert_allclose(
                a, np.where(r.reshape(3, *[1] * (a.ndim - 1)), b, k), rtol=1e-12
            ),
            actual,
            kept,
            begun,
        )


@pytest.mark.parametrize("name", _CELLS)
def test_what_is_left_behind_has_no_gradient(name):
    cell, (trainables, state, hyperparams), x, carry, _ = _carried(name)

    def total(carry):
        y = cell.fwd(
            (x, carry), trainables, state, hyperparams, reset=jnp.asarray(_RESET)
        )
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(y[0]))

    for gradient in jax.tree.leaves(jax.grad(total)(carry)):
        assert not np.any(gradient[1])
        assert np.all(np.any(gradient[::2].reshape(2, -1), axis=1))


@pytest.mark.parametrize("name", [n for n in _CELLS if n != "ConvLSTMCell"])
def test_a_run_over_time_resets_as_the_cell_does(name):
    cell, layer, _, carry, _ = _carried(name)
    trainables, state, hyperparams = layer
    x = jnp.asarray(_RANDOM.normal(size=(6, 3, 4)))
    reset = jnp.asarray(_RANDOM.random((6, 3)) < 0.4)
    recurrent = mlax.block.Recurrent.init(layer, time_major=True, return_carry=True)
    (y, last), _ = mlax.block.Recurrent.fwd(x, *recurrent, carry=carry, reset=reset)
    for step in range(6):
        (expected, carry), _ = cell.fwd(
            (x[step], carry), trainables, state, hyperparams, reset=reset[step]
        )
        np.testing.assert_allclose(y[step], expected, rtol=1e-12)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), last, carry)


def test_a_linear_recurrent_unit_is_reset_between_sequences():
    layer = mlax.nn.LRU.init(
        jax.random.key(0), 4, state_features=6, return_carry=True, dtype=jnp.float64
    )
    x = jnp.asarray(_RANDOM.normal(size=(2, 7, 4)))
    start = jax.tree.map(
        jnp.asarray, (_RANDOM.normal(size=(2, 6)), _RANDOM.normal(size=(2, 6)))
    )
    reset = jnp.zeros((2, 7), bool).at[(0, 1, 1), (3, 0, 5)].set(True)

    @jax.jit
    def run(x, carry=None, reset=None):
        return mlax.nn.LRU.fwd(x, *layer, carry=carry, reset=reset)[0]

    y, last = run(x, start, reset)
    first = jax.tree.map(lambda c: c[:1], start)
    parts = [run(x[:1, :3], first), run(x[:1, 3:])]
    np.testing.assert_allclose(y[0, :3], parts[0][0][0], rtol=1e-10)
    np.testing.assert_allclose(y[0, 3:], parts[1][0][0], rtol=1e-10)
    parts = [run(x[1:, :5]), run(x[1:, 5:])]
    np.testing.assert_allclose(y[1, :5], parts[0][0][0], rtol=1e-10)
    np.testing.assert_allclose(y[1, 5:], parts[1][0][0], rtol=1e-10)
    for mine, alone in zip(last, parts[1][1], strict=True):
        np.testing.assert_allclose(mine[1:], alone, rtol=1e-10)


@pytest.mark.parametrize("is_static", [False, True])
def test_a_module_runs_over_time_with_resets(is_static):
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    lstm = bx.LSTM(graph.child("lstm"), hidden_size=3, is_static=is_static, rng=rng)
    x = jnp.asarray(_RANDOM.normal(size=(2, 6, 4)), jnp.float32)
    (_, start), params = lstm.apply(rng.seed(bx.Params(), seed=0), x)
    reset = jnp.zeros((2, 6), bool).at[(0, 1), (2, 5)].set(True)
    (y, last), _ = lstm.apply(params, x, start, reset=reset)
    state = start
    for step in range(6):
        (expected, state), _ = lstm(params, x[:, step], state, reset=reset[:, step])
        np.testing.assert_allclose(y[:, step], expected, rtol=1e-5, atol=1e-6)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), last, state
    )
    (alone, _), _ = lstm.apply(params, x[:1, 2:])
    np.testing.assert_allclose(y[:1, 2:], alone, rtol=1e-5, atol=1e-6)


def test_a_reset_that_does_not_fit_is_told():
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    gru = bx.GRU(graph.child("gru"), hidden_size=3, rng=rng)
    x = jnp.ones((2, 6, 4), jnp.float32)
    params = rng.seed(bx.Params(), seed=0)
    with pytest.raises(ValueError, match="GRU: reset"):
        gru.apply(params, x, reset=jnp.zeros(2, bool))
    with pytest.raises(TypeError, match="GRU: reset"):
        gru.apply(params, x, reset=jnp.zeros((2, 6)))
    with pytest.raises(ValueError, match="GRUCell: reset"):
        gru(params, x[:, 0], None, reset=jnp.zeros(3, bool))
