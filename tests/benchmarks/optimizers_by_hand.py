"""Optimizers written by hand in plain JAX: what a step of the generated ones may cost.

Each is `(init, step)`: `init(weights)` returns the moments, a dict of trees, and
`step(number, gradients, moments, weights)` new weights and moments. Hyperparameters are
those that `tests.benchmarks.optimizers` gives to the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

RATE = 1e-3
MOMENTUM = 0.9
B1, B2, EPSILON, DECAY = 0.9, 0.999, 1e-8, 1e-4
LION_B2, LION_DECAY = 0.99, 1e-3

PyTree = Any
Step = Callable[[jax.Array, PyTree, PyTree, PyTree], tuple[PyTree, PyTree]]


def zeros(*names: str) -> Callable[[PyTree], dict[str, PyTree]]:
    """Moments of zeros, shaped like the weights."""
    return lambda weights: {n: jax.tree.map(jnp.zeros_like, weights) for n in names}


def over_leaves(leaf: Callable[..., tuple[Any, ...]], *names: str) -> Step:
    """A step from `leaf(number, gradient, weight, *moments)`."""

    def step(number: Any, gradients: Any, moments: Any, weights: Any) -> Any:
        trees = (gradients, weights, *(moments[name] for name in names))
        leaves, structure = zip(*map(jax.tree.flatten, trees), strict=True)
        rows = [leaf(number, *row) for row in zip(*leaves, strict=True)]
        new = [structure[1].unflatten(column) for column in zip(*rows, strict=True)]
        return new[0], dict(zip(names, new[1:], strict=True))

    return step


def _momentum(number: Any, g: Any, w: Any, m: Any) -> tuple[Any, ...]:
    m = MOMENTUM * m + g
    return w - RATE * m, m


def _adam(number: Any, g: Any, w: Any, m: Any, v: Any, decay: float = 0.0) -> Any:
    m = B1 * m + (1 - B1) * g
    v = B2 * v + (1 - B2) * g * g
    mean = m / (1 - B1**number).astype(g.dtype)
    root = jnp.sqrt(v / (1 - B2**number).astype(g.dtype))
    step = mean / (root + EPSILON)
    return w - RATE * (step + decay * w), m, v


def _adam_w(number: Any, g: Any, w: Any, m: Any, v: Any) -> tuple[Any, ...]:
    return _adam(number, g, w, m, v, DECAY)


def _lion(number: Any, g: Any, w: Any, m: Any) -> tuple[Any, ...]:
    step = jnp.sign(B1 * m + (1 - B1) * g)
    return w - RATE * (step + LION_DECAY * w), LION_B2 * m + (1 - LION_B2) * g


def _adafactor(number: Any, g: Any, w: Any, row: Any, column: Any, v: Any) -> Any:
    rate = (number**-0.8).astype(g.dtype)
    square = g * g + jnp.finfo(g.dtype).tiny
    if v.size == 0:
        row = row + rate * (jnp.mean(square, -1) - row)
        column = column + rate * (jnp.mean(square, -2) - column)
        u = g * jax.lax.rsqrt(row / jnp.mean(row))[:, None] * jax.lax.rsqrt(column)
    else:
        v = v + rate * (square - v)
        u = g * jax.lax.rsqrt(v)
    u = u / jnp.maximum(1.0, jnp.sqrt(jnp.mean(u * u)))
    u = u * jnp.maximum(jnp.sqrt(jnp.mean(w * w)), 1e-3)
    return w - RATE * u, row, column, v


def _factored(weights: PyTree) -> dict[str, PyTree]:
    def shapes(weight: Any) -> tuple[tuple[int, ...], ...]:
        if weight.ndim == 2 and min(weight.shape) >= 128:
            return weight.shape[:1], weight.shape[1:], (0,)
        return (0,), (0,), weight.shape

    return {
        name: jax.tree.map(lambda w, i=i: jnp.zeros(shapes(w)[i], w.dtype), weights)
        for i, name in enumerate(("row", "column", "square"))
    }


OPTIMIZERS: dict[str, tuple[Callable[[PyTree], Any], Step]] = {
    "sgd-momentum": (zeros("trace"), over_leaves(_momentum, "trace")),
    "adam": (zeros("mean", "square"), over_leaves(_adam, "mean", "square")),
    "adamw": (zeros("mean", "square"), over_leaves(_adam_w, "mean", "square")),
    "lion": (zeros("mean"), over_leaves(_lion, "mean")),
    "adafactor": (_factored, over_leaves(_adafactor, "row", "column", "square")),
}
