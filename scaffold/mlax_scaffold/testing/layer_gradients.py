"""Gradients of a layer against finite differences."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.testing._functions import Differentiable
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.domains import NotFinite, hold_where_defined
from mlax_scaffold.testing.dtypes import x64


def assert_gradients(
    case: Case, *, training: bool = False, rtol: float = 1e-6, seed: int = 0
) -> None:
    """Gradients equal central differences, in float64, for x, weights and inputs.

    The derivatives are taken in a random direction of each array, and in one of all
    together. Where the case is not smooth, the gradients have to be finite, no more.
    A kink that lies within the step is none of the point itself: a smaller step, of the
    same program, passes it by.
    """
    hold_where_defined(case, lambda c: _assert_gradients(c, training, rtol, seed))


def _assert_gradients(case: Case, training: bool, rtol: float, seed: int) -> None:
    with x64():
        arguments = case.arguments(jnp.float64, seed=seed)
        fwd = Differentiable(case, arguments, training=training)
        if not fwd.floats:
            return
        generator = np.random.default_rng(seed)
        rest = (fwd.others, arguments.non_trainables, jax.random.key(seed))
        outputs, _ = jax.eval_shape(fwd, fwd.floats, *rest)
        cotangents = [_normal(generator, v) for v in outputs]
        places = [*fwd.places, "all"]
        # Row i is a direction in which only array i changes; in the last one all do.
        directions = [
            np.stack(
                [
                    _normal(generator, value) * (row in (i, len(fwd.floats)))
                    for row in range(len(places))
                ]
            )
            for i, value in enumerate(fwd.floats)
        ]
        compute = jax.jit(lambda *args: _derivatives(fwd, *args))
        first = ""
        for step in _STEPS:
            computed = compute(step, fwd.floats, rest, cotangents, directions)
            gradients, *found = jax.tree.map(np.asarray, computed)
            for place, gradient in zip(fwd.places, gradients, strict=True):
                if not np.all(np.isfinite(gradient)):
                    raise NotFinite(
                        f"{case.name}: the gradient of {place} is not finite"
                    )
            if not case.smooth:
                return
            differing = _differing(case.name, places, found, rtol)
            if not differing:
                return
            first = first or differing
    raise AssertionError(first)


_STEPS = (1e-5, 1e-6, 1e-7)
"""How far finite differences go to each side; the next one where gradients differ."""


def _differing(name: str, places: list[str], found: list[Any], rtol: float) -> str:
    """What is said of the first direction whose derivative is another one; "" for none."""
    analytic, numeric, scale = found
    for i, place in enumerate(places):
        if not np.isfinite(numeric[i]):
            raise NotFinite(f"{name}: what it makes of {place} is not finite")
        limit = rtol * max(abs(analytic[i]), abs(numeric[i]), scale[i]) + 1e-9
        if not abs(analytic[i] - numeric[i]) <= limit:
            return (
                f"{name}: the gradient of {place} gives the directional derivative "
                f"{analytic[i]:.9g}, finite differences give {numeric[i]:.9g}; allowed is "
                f"a difference of {limit:.3g}; where the gradient is meant to be another, "
                "as in a straight-through estimator, the spec says so: "
                "`class Name(Layer, surrogate_gradient=True)`, "
                "`@function(surrogate_gradient=True)`"
            )
    return ""


def _derivatives(
    fwd: Differentiable,
    step: Any,
    floats: list[Any],
    rest: tuple[Any, ...],
    cotangents: list[Any],
    directions: list[Any],
) -> tuple[list[Any], Any, Any, Any]:
    """Gradients, and by direction: their derivative, the numeric one, and its scale."""
    others, state, key = rest
    outputs, pullback, _ = jax.vjp(
        lambda values: fwd(values, others, state, key), floats, has_aux=True
    )
    # What is infinite stays so, whatever is added to it.
    pairs = zip(outputs, cotangents, strict=True)
    cotangents = [jnp.where(jnp.isinf(y), jnp.zeros_like(c), c) for y, c in pairs]
    (gradients,) = pullback(cotangents)

    def along(direction: list[Any]) -> tuple[Any, Any, Any]:
        def at(distance: Any) -> list[Any]:
            moved = [v + distance * d for v, d in zip(floats, direction, strict=True)]
            return fwd(moved, others, state, key)[0]

        # One program of both sides compiles in half the time.
        sides = jax.lax.map(at, jnp.stack([step, -step]))
        # An infinity that stays where it is does not change.
        change = [
            jnp.where(up == down, jnp.zeros_like(up), (up - down) / (2 * step))
            for up, down in sides
        ]
        scale = jnp.sqrt(_size(change) * _size(cotangents))
        return _dot(gradients, direction), _dot(cotangents, change), scale

    return gradients, *jax.lax.map(along, directions)


def _normal(generator: np.random.Generator, like: Any) -> Any:
    real = np.asarray(generator.standard_normal(like.shape))
    if not jnp.issubdtype(like.dtype, jnp.complexfloating):
        return real
    return real + 1j * np.asarray(generator.standard_normal(like.shape))


def _dot(a: list[Any], b: list[Any]) -> Any:
    # Of complex arrays jax pairs gradients so: nothing is conjugated.
    return sum(jnp.real(jnp.sum(u * v)) for u, v in zip(a, b, strict=True))


def _size(a: list[Any]) -> Any:
    return sum(jnp.sum(jnp.abs(u) ** 2) for u in a)
