"""Recurrences, as a program in blox runs them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_blox import differs, start

X = jnp.sin(jnp.arange(2.0 * 4 * 3)).reshape(2, 4, 3)
# blox broadcasts (batch,) to the state, which only one sequence fits.
ONE = X[:1]
RESET = jnp.zeros((1, 4), jnp.bool_).at[:, 2].set(True)


def cell(bx: Any, name: str, **given: Any) -> tuple[Any, Any]:
    """A cell, and params with what it creates."""
    graph, rng, params = start(bx)
    module = getattr(bx, name)(graph.child("cell"), hidden_size=5, rng=rng, **given)
    return module, module.apply(params, X)[1].locked()


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_a_sequence_has_an_output_for_each_step(bx: Any, name: str):
    module, params = cell(bx, name)
    (ys, state), after = module.apply(params, X)
    assert ys.shape == (2, 4, 5)
    assert all(leaf.shape == (2, 5) for leaf in jax.tree.leaves(state))
    assert isinstance(after, bx.Params)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_a_step_has_a_state(bx: Any, name: str):
    module, params = cell(bx, name)
    state, params = module.initial_state(params, X[:, 0])
    assert not any(leaf.any() for leaf in jax.tree.leaves(state))
    (y, state), params = module(params, X[:, 0], state)
    assert y.shape == (2, 5)
    np.testing.assert_allclose(y, module.apply(params, X)[0][0][:, 0], rtol=1e-5)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_a_sequence_is_its_steps(bx: Any, name: str):
    module, params = cell(bx, name)
    (ys, last), _ = module.apply(params, X)
    state, _ = module.initial_state(params, X[:, 0])
    for step in range(4):
        (y, state), _ = module(params, X[:, step], state)
        np.testing.assert_allclose(y, ys[:, step], rtol=1e-4, atol=1e-6)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), state, last
    )


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_a_sequence_goes_on_from_a_state(bx: Any, name: str):
    module, params = cell(bx, name)
    (whole, _), _ = module.apply(params, X)
    (first, state), _ = module.apply(params, X[:, :2])
    (second, _), _ = module.apply(params, X[:, 2:], state)
    both = jnp.concatenate([first, second], 1)
    np.testing.assert_allclose(both, whole, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_a_loop_of_python_gives_the_same(bx: Any, name: str):
    module, params = cell(bx, name)
    (dynamic, _), _ = module.apply(params, X)
    module.is_static = True
    (static, _), _ = module.apply(params, X)
    np.testing.assert_allclose(static, dynamic, rtol=1e-4, atol=1e-6)


def test_it_is_said_at_first_too(bx: Any):
    module, _ = cell(bx, "LSTM", is_static=True)
    assert module.is_static
    assert not cell(bx, "LSTM")[0].is_static


def from_the_first_state(bx: Any) -> None:
    module, params = cell(bx, "LSTM")
    (y, _), _ = module(params, X[:, 0], None)
    (ys, _), _ = module.apply(params, X)
    np.testing.assert_allclose(y, ys[:, 0], rtol=1e-5)


@differs(pytest.fail.Exception, from_the_first_state)
def test_a_step_needs_a_state(bx: Any):
    module, params = cell(bx, "LSTM")
    with pytest.raises(ValueError, match="state"):
        module(params, X[:, 0], None)


def begins_anew(bx: Any, word: str, state: str | None) -> None:
    module, params = cell(bx, "LSTM")
    (ys, last), _ = module.apply(params, ONE, **{word: RESET})
    (fresh, _), _ = module.apply(params, ONE[:, 2:])
    np.testing.assert_allclose(ys[:, 2:], fresh, rtol=1e-4, atol=1e-6)
    hidden = last[1] if state is None else getattr(last, state)
    np.testing.assert_allclose(hidden, ys[:, -1])


@differs(TypeError, lambda bx: begins_anew(bx, "reset", None))
def test_a_sequence_begins_anew(bx: Any):
    begins_anew(bx, "is_reset", "hidden")


def gru_begins_anew(bx: Any, word: str) -> None:
    module, params = cell(bx, "GRU")
    (ys, last), _ = module.apply(params, ONE, **{word: RESET})
    (fresh, _), _ = module.apply(params, ONE[:, 2:])
    np.testing.assert_allclose(ys[:, 2:], fresh, rtol=1e-4, atol=1e-6)
    [hidden] = jax.tree.leaves(last)
    np.testing.assert_allclose(hidden, ys[:, -1])


@differs(TypeError, lambda bx: gru_begins_anew(bx, "reset"))
def test_a_gru_begins_anew(bx: Any):
    gru_begins_anew(bx, "is_reset")


def pair_of_arrays(bx: Any) -> None:
    module, params = cell(bx, "LSTM")
    (y, (c, h)), _ = module(params, X[:, 0], module.initial_state(params, X[:, 0])[0])
    assert jnp.array_equal(y, h)
    assert c.shape == h.shape


@differs(AttributeError, pair_of_arrays)
def test_the_state_of_an_lstm_has_names(bx: Any):
    module, params = cell(bx, "LSTM")
    state, _ = module.initial_state(params, X[:, 0])
    (y, state), _ = module(params, X[:, 0], state)
    assert jnp.array_equal(y, state.hidden)
    assert isinstance(state, bx.LSTMState)


def an_array(bx: Any) -> None:
    module, params = cell(bx, "GRU")
    state, _ = module.initial_state(params, X[:, 0])
    assert module(params, X[:, 0], state)[0][1].shape == (2, 5)


@differs(AttributeError, an_array)
def test_that_of_a_gru_too(bx: Any):
    module, params = cell(bx, "GRU")
    state, _ = module.initial_state(params, X[:, 0])
    assert module(params, X[:, 0], state)[0][1].hidden.shape == (2, 5)


def gates_are_weights(bx: Any) -> None:
    _, params = cell(bx, "LSTM")
    assert params["net", "cell", "kernel"].value.shape == (3, 20)
    assert params["net", "cell", "recurrent_kernel"].value.shape == (5, 20)


@differs(KeyError, gates_are_weights)
def test_gates_are_a_layer(bx: Any):
    _, params = cell(bx, "LSTM")
    assert params["net", "cell", "gates", "kernel"].value.shape == (8, 20)


def total(bx: Any) -> tuple[Any, Any]:
    """A cell of one's own, and params with what it creates."""

    class Total(bx.RecurrenceBase):
        def initial_state(self, params: Any, inputs: jax.Array) -> Any:
            return jnp.zeros((inputs.shape[0], inputs.shape[-1])), params

        def __call__(
            self,
            params: Any,
            inputs: jax.Array,
            prev_state: Any,
            is_reset: Any = None,
            is_training: bool = True,
        ) -> Any:
            state = self.maybe_reset_state(params, prev_state, inputs, is_reset)
            scale, params = self.get_param(
                params, "scale", (), jax.nn.initializers.ones
            )
            state = state + scale * inputs
            return (state, state), params

    graph, _, params = start(bx)
    module = Total(graph.child("total"))
    return module, module.apply(params, X)[1].locked()


def test_a_cell_of_ones_own_runs_sequences(bx: Any):
    module, params = total(bx)
    (ys, state), _ = module.apply(params, X)
    np.testing.assert_allclose(ys, jnp.cumsum(X, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state, X.sum(1), rtol=1e-5, atol=1e-6)


def test_it_begins_anew(bx: Any):
    module, params = total(bx)
    (ys, _), _ = module.apply(params, ONE, is_reset=RESET)
    np.testing.assert_allclose(ys[:, 2], ONE[:, 2], rtol=1e-5)


def test_it_runs_in_python(bx: Any):
    module, params = total(bx)
    module.is_static = True
    (ys, _), _ = module.apply(params, ONE, is_reset=RESET)
    np.testing.assert_allclose(ys[:, 3], ONE[:, 2] + ONE[:, 3], rtol=1e-5)


def test_it_has_gradients(bx: Any):
    module, params = total(bx)
    trainable, rest = params.split()
    grads = jax.grad(lambda t: module.apply(t.merge(rest), X)[0][0].sum())(trainable)
    expected = jnp.cumsum(X, 1).sum()
    np.testing.assert_allclose(
        grads["net", "total", "scale"].value, expected, rtol=1e-4
    )


def test_it_is_compiled(bx: Any):
    module, params = total(bx)
    (ys, _), _ = jax.jit(module.apply)(params, X)
    np.testing.assert_allclose(ys, jnp.cumsum(X, 1), rtol=1e-5, atol=1e-6)


def scans_carries(bx: Any) -> None:
    def step(carry: Any, x: jax.Array) -> Any:
        return carry + x, carry + x

    for scan in (bx.static_scan, bx.dynamic_scan):
        last, ys = scan(step, jnp.zeros(3), X[0])
        np.testing.assert_allclose(ys, jnp.cumsum(X[0], 0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last, ys[-1])


@differs(TypeError, scans_carries)
def test_scans_take_a_module_and_params(bx: Any):
    module, params = total(bx)
    state, _ = module.initial_state(params, X)
    for scan in (bx.static_scan, bx.dynamic_scan):
        (ys, _), _ = scan(module, params, X, state, None, True)
        np.testing.assert_allclose(ys, jnp.cumsum(X, 1), rtol=1e-5, atol=1e-6)
