"""Recurrences of one's own: a step is written, and `RecurrenceBase` runs sequences."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from graph_models import start

import mlax.graph as bx

XS = jnp.arange(12.0).reshape(2, 3, 2)


class Leaky(bx.RecurrenceBase):
    """state = decay * state + dropout(x W); it counts its steps."""

    def __init__(self, graph: bx.Graph, rng: bx.Rng, is_static: bool = False) -> None:
        super().__init__(graph, is_static)
        self.rng = rng
        self.linear = bx.Linear(graph.child("linear"), 2, rng=rng)
        self.dropout = bx.Dropout(graph.child("dropout"), 0.5, rng=rng)

    def initial_state(self, params: bx.Params, inputs: Any) -> tuple[Any, bx.Params]:
        return {"sum": jnp.full((len(inputs), 2), 0.25)}, params

    def __call__(
        self,
        params: bx.Params,
        inputs: Any,
        prev_state: Any,
        is_reset: Any = None,
        is_training: bool = True,
    ) -> tuple[tuple[Any, Any], bx.Params]:
        state = self.maybe_reset_state(params, prev_state, inputs, is_reset)
        steps, params = self.get_param(
            params, "steps", (), init=jax.nn.initializers.zeros, trainable=False
        )
        y, params = self.linear(params, inputs, is_training=is_training)
        y, params = self.dropout(params, y, is_training=is_training)
        params = self.set_param(params, "steps", steps + 1)
        total = 0.5 * state["sum"] + y
        return (total, {"sum": total}), params


def leaky(is_static: bool = False) -> tuple[Leaky, bx.Params]:
    graph, rng, params = start()
    return Leaky(graph.child("cell"), rng, is_static), params


def by_hand(cell: Leaky, params: bx.Params, is_reset: Any = None, **mode: Any) -> Any:
    state, params = cell.initial_state(params, XS[:, 0])
    ys = []
    for t in range(XS.shape[1]):
        begins = None if is_reset is None else is_reset[:, t]
        (y, state), params = cell(params, XS[:, t], state, begins, **mode)
        ys.append(y)
    return (jnp.stack(ys, 1), state), params


def assert_equal(given: Any, expected: Any) -> None:
    assert jax.tree.structure(given) == jax.tree.structure(expected)
    same = jax.tree.map(lambda a, b: jnp.allclose(a, b, rtol=1e-6), given, expected)
    assert jax.tree.all(same)


@pytest.mark.parametrize("is_static", [False, True])
@pytest.mark.parametrize("is_training", [False, True])
def test_a_sequence_is_its_steps(is_static: bool, is_training: bool):
    cell, params = leaky(is_static)
    begins = jnp.array([[False, True, False], [False, False, True]])
    _, made = by_hand(cell, params, is_training=False)
    made = made.locked()
    expected, after = by_hand(cell, made, begins, is_training=is_training)
    result, given = cell.apply(made, XS, is_reset=begins, is_training=is_training)
    assert_equal(result, expected)
    for path in (("cell", "steps"), ("rng", "counter")):
        assert given["model", *path].value == after["model", *path].value
    plain, _ = cell.apply(made, XS, is_training=is_training)
    assert not jnp.array_equal(plain[0], result[0])


@pytest.mark.parametrize("is_static", [False, True])
def test_the_first_call_creates_what_a_step_does(is_static: bool):
    cell, params = leaky(is_static)
    _, made = cell.apply(params, XS, is_training=False)
    assert set(made) - set(params) == {
        ("model", "cell", "steps"),
        ("model", "cell", "linear", "kernel"),
        ("model", "cell", "linear", "bias"),
    }
    assert made["model", "cell", "steps"].value == 3
    with pytest.raises(bx.LockedError):
        cell.apply(params.locked(), XS)


def test_gradients_are_those_of_the_steps():
    cell, params = leaky()
    _, params = cell.apply(params, XS, is_training=False)
    weights, others = params.locked().split()

    def loss(run: Any) -> Any:
        def of(weights: bx.Params) -> jax.Array:
            (ys, _), _ = run(weights.merge(others))
            return jnp.sum(ys**2)

        return jax.grad(of)(weights)

    run = loss(lambda p: cell.apply(p, XS, is_training=False))
    assert_equal(run, loss(lambda p: by_hand(cell, p, is_training=False)))


class Greedy(Leaky):
    """It changes its weights."""

    def __call__(self, params: bx.Params, inputs: Any, *args: Any) -> Any:
        result, params = super().__call__(params, inputs, *args)
        kernel, _ = self.linear.get_param(params, "kernel")
        return result, self.linear.set_param(params, "kernel", 2 * kernel)


def test_a_step_that_changes_a_weight_is_refused():
    graph, rng, params = start()
    cell = Greedy(graph.child("cell"), rng)
    with pytest.raises(
        ValueError, match="changes the weight 'model/cell/linear/kernel'"
    ):
        cell.apply(params, XS)


@pytest.mark.parametrize("shape", [(2,), (2, 0, 2)])
def test_inputs_without_time_are_refused(shape: tuple[int, ...]):
    cell, params = leaky()
    with pytest.raises(
        ValueError, match=r"Leaky: inputs must have shape \(batch, time"
    ):
        cell.apply(params, jnp.ones(shape))


def test_a_step_and_a_first_state_are_to_be_written():
    graph, _, _ = start()
    with pytest.raises(TypeError, match=r"__call__.*initial_state"):
        bx.RecurrenceBase(graph.child("cell"))  # type: ignore[abstract]
