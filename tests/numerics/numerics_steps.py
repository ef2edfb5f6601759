"""Optimizers with other optimizers in them, or with more inputs than gradients, beside those of optax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from numerics_optimizers import (
    SHAPES,
    STEPS,
    Row,
    assert_same_steps,
    draw_gradients,
    draw_weights,
)

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


def assert_parity(pair: Pair) -> None:
    """Ours takes the steps of optax, with the loss that gave the gradients at hand."""
    transformation = pair.theirs()

    def step(given: Any, carried: Any, weights: Any) -> Any:
        (number, noise), (state, hyperparams) = given, carried
        function = value_and_gradients(noise)
        value, gradients = function(weights)
        with jax.numpy_dtype_promotion("strict"):
            updates, state = hyperparams.apply(
                pair.change(number, gradients),
                state,
                weights,
                value=value,
                value_and_gradients=function,
                key=jax.random.key(0),
            )
        return updates, (state, hyperparams)

    def step_of_optax(given: Any, state: Any, weights: Any) -> Any:
        number, noise = given
        function = value_and_gradients(noise)
        value, gradients = function(weights)
        changed = pair.change(number, gradients)
        inputs = pair.inputs(value, function)
        return transformation.update(changed, state, weights, **inputs)

    assert_same_steps(
        (pair.ours, step),
        (transformation.init, step_of_optax),
        lambda dtype: (
            draw_weights(ROW, dtype),
            (jnp.arange(STEPS), draw_noise(dtype)),
        ),
    )
