"""Optimizers with other optimizers in them, or with more inputs than gradients, beside those of optax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from numerics_optimizers import (
    FAST_COMPILATION,
    STEPS,
    Row,
    assert_close,
    draw_gradients,
    draw_weights,
)

SHAPES = {"matrix": (5, 4), "scalar": (), "vector": (3,), "zero": (2,)}
ROW = Row("", lambda: None, (), shapes=SHAPES)


@dataclass(frozen=True)
class Pair:
    """An optimizer of mlax and one of optax, on the gradients of a quadratic with noise.

    Args:
        name: what the output of pytest calls it.
        ours: makes `(state, hyperparams)` for weights.
        theirs: makes the transformation of optax.
        inputs: extra arguments of the update of optax, from `value` and the function of
            weights that gives value and gradients.
        change: what becomes of the gradients of a step, before both are given them.
    """

    name: str
    ours: Callable[[Any], tuple[Any, Any]]
    theirs: Callable[[], Any]
    inputs: Callable[[Any, Any], dict[str, Any]] = lambda value, function: {}
    change: Callable[[Any, Any], Any] = lambda number, gradients: gradients


def value_and_gradients(noise: Any) -> Callable[[Any], tuple[Any, Any]]:
    """A loss whose gradients are weights + noise."""

    def loss(weights: Any) -> Any:
        terms = jax.tree.map(lambda w, n: jnp.sum(w * w / 2 + w * n), weights, noise)
        return 10.0 + sum(jax.tree.leaves(terms))

    return jax.value_and_grad(loss)


def draw_noise(dtype: str) -> Any:
    """Noise of every step: where there were none, weights would be compared near zero."""
    drawn = draw_gradients(ROW, dtype)
    return drawn | {"zero": drawn["vector"][:, :2]}


def run_ours(pair: Pair, dtype: str) -> Any:
    """The updates of every step, and the last weights."""

    def run(weights: Any, noise: Any) -> Any:
        state, hyperparams = pair.ours(weights)

        def body(carry: Any, given: Any) -> Any:
            (weights, state), (number, noise) = carry, given
            function = value_and_gradients(noise)
            value, gradients = function(weights)
            updates, state = hyperparams.apply(
                pair.change(number, gradients),
                state,
                weights,
                value=value,
                value_and_gradients=function,
                key=jax.random.key(0),
            )
            return (jax.tree.map(lax.add, weights, updates), state), updates

        steps = (jnp.arange(STEPS), noise)
        (weights, _), updates = lax.scan(body, (weights, state), steps)
        return updates, weights

    noise = draw_noise(dtype)
    with jax.numpy_dtype_promotion("strict"):
        traced = jax.jit(run, compiler_options=FAST_COMPILATION)
        return traced(draw_weights(ROW, dtype), noise)


def run_theirs(pair: Pair, dtype: str) -> Any:
    """The same with optax."""
    transformation = pair.theirs()

    def run(weights: Any, noise: Any) -> Any:
        def body(carry: Any, given: Any) -> Any:
            (weights, state), (number, noise) = carry, given
            function = value_and_gradients(noise)
            value, gradients = function(weights)
            updates, state = transformation.update(
                pair.change(number, gradients),
                state,
                weights,
                **pair.inputs(value, function),
            )
            return (jax.tree.map(lax.add, weights, updates), state), updates

        carry = (weights, transformation.init(weights))
        (weights, _), updates = lax.scan(body, carry, (jnp.arange(STEPS), noise))
        return updates, weights

    weights = jax.tree.map(jnp.asarray, draw_weights(ROW, dtype))
    traced = jax.jit(run, compiler_options=FAST_COMPILATION)
    return traced(weights, draw_noise(dtype))


def assert_parity(pair: Pair) -> None:
    """Ours takes the steps of optax: in float64, and up to rounding in float32."""
    expected = run_theirs(pair, "float64")
    assert_close(run_ours(pair, "float64"), expected, "float64")
    with jax.enable_x64(False):
        single = run_ours(pair, "float32")
    assert_close(single, expected, "float32")
