"""Optimizers beside those of optax: the same gradients, many steps, one compilation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numerics_adapter import init_optimizer, step_optimizer

from mlax_scaffold.testing.programs import quick

STEPS = 100
TOLERANCE = {"float32": 1e-5, "float64": 1e-10}
SHAPES = {"matrix": (5, 4), "scalar": (), "vector": (3,), "zero": (2,)}
FAST_COMPILATION: dict[str, Any] = quick()
"""Most of the time would go into optimizing machine code that runs once."""
NAMES = {"epsilon": "eps", "epsilon_root": "eps_root", "moment_dtype": "mu_dtype"}
"""What most of the optimizers of optax call these hyperparameters."""

Arrays = dict[str, np.ndarray]
Init = Callable[[Any], Any]
"""The state of an optimizer for weights."""
Step = Callable[[Any, Any, Any], tuple[Any, Any]]
"""The updates and the new state, from what a step is given, the state, and weights."""


@dataclass(frozen=True)
class Row:
    """An optimizer of mlax, the one of optax, and hyperparameters to compare them with.

    Args:
        ours: its module, such as "adam".
        theirs: makes the transformation of optax from keyword arguments.
        settings: hyperparameters of ours; those of optax have the names of `NAMES`.
        names: names that differ in addition.
        shapes: those of the weights, by name.
        their_updates: what of `(updates, state)` of optax is compared with our updates.
    """

    ours: str
    theirs: Callable[..., Any]
    settings: tuple[Mapping[str, Any], ...]
    names: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: SHAPES)
    their_updates: Callable[[Any, Any], Any] = lambda updates, state: updates

    def transformation(self, setting: Mapping[str, Any]) -> Any:
        """The transformation of optax with these hyperparameters."""
        names = NAMES | dict(self.names)
        given = {names.get(name, name): v for name, v in setting.items()}
        return self.theirs(
            **{n: of_tree if v is matrices else v for n, v in given.items()}
        )


def cases(*rows: Row) -> list[tuple[Row, Mapping[str, Any]]]:
    """A case for each setting of each row."""
    return [(row, setting) for row in rows for setting in row.settings]


def label(value: Any) -> str:
    """The name of a case in the output of pytest."""
    if isinstance(value, Row):
        return value.ours
    return ",".join(value) or "defaults"


def falling(step: Any) -> Any:
    """A schedule."""
    return 0.1 / (1.0 + 0.05 * step)


def matrices(path: str, weight: Any) -> bool:
    """A mask, as ours are."""
    return weight.ndim > 1


def of_tree(weights: Any) -> Any:
    """The same mask, as those of optax are."""
    return jax.tree.map(lambda weight: weight.ndim > 1, weights)


def draw_weights(row: Row, dtype: str) -> Arrays:
    """Weights, the same in every dtype up to rounding."""
    return _draw(0, (), row, dtype)


def draw_gradients(row: Row, dtype: str, steps: int = STEPS) -> Arrays:
    """Gradients of every step; those of "zero" are zero."""
    drawn = _draw(1, (steps,), row, dtype)
    return drawn | {"zero": np.zeros_like(drawn["zero"])}


def _draw(seed: int, leading: tuple[int, ...], row: Row, dtype: str) -> Arrays:
    generator = np.random.default_rng(seed)
    return {
        name: np.asarray(generator.normal(size=leading + shape), np.float32).astype(
            dtype
        )
        for name, shape in row.shapes.items()
    }


def run_steps(init: Init, step: Step, weights: Any, given: Any) -> Any:
    """The updates of every step, and the first and the last weights, compiled once."""

    def body(carry: Any, given: Any) -> Any:
        weights, state = carry
        updates, state = step(given, state, weights)
        return (jax.tree.map(lax.add, weights, updates), state), updates

    def run(weights: Any, given: Any) -> Any:
        (last, _), updates = lax.scan(body, (weights, init(weights)), given)
        return updates, jax.tree.map(lambda *ends: jnp.stack(ends), weights, last)

    return jax.jit(run, compiler_options=FAST_COMPILATION)(weights, given)


def assert_close(actual: Any, expected: Any, dtype: str) -> None:
    """Errors are relative to the largest number of each array."""
    expected = jax.tree.map(np.asarray, expected)
    for (path, a), e in zip(
        jax.tree_util.tree_leaves_with_path(actual),
        jax.tree.leaves(expected),
        strict=True,
    ):
        assert a.dtype == dtype
        np.testing.assert_allclose(
            np.asarray(a, np.float64),
            e,
            rtol=0.0,
            atol=TOLERANCE[dtype] * float(np.abs(e).max()),
            err_msg=jax.tree_util.keystr(path),
        )


def assert_same_steps(
    ours: tuple[Init, Step],
    theirs: tuple[Init, Step],
    draw: Callable[[str], tuple[Any, Any]],
) -> None:
    """Ours takes the steps of optax: in float64, and up to rounding in float32.

    Both get the weights and what is given in each step that `draw` makes for a dtype. The
    run in float32 is one without 64-bit numbers, so that coefficients are of 32 bits.
    """
    expected = run_steps(*theirs, *draw("float64"))
    assert_close(run_steps(*ours, *draw("float64")), expected, "float64")
    with jax.enable_x64(False):
        single = run_steps(*ours, *draw("float32"))
    assert_close(single, expected, "float32")


def assert_parity(row: Row, setting: Mapping[str, Any]) -> None:
    """Ours takes the steps of optax along the same gradients."""
    transformation = row.transformation(setting)

    def init(weights: Any) -> Any:
        return init_optimizer(f"optim/{row.ours}", setting, weights)

    def step(gradients: Any, carried: Any, weights: Any) -> Any:
        # Hyperparameters have no leaves, and may be carried along.
        state, hyperparams = carried
        updates, state = step_optimizer(hyperparams, gradients, state, weights)
        return updates, (state, hyperparams)

    def step_of_optax(gradients: Any, state: Any, weights: Any) -> Any:
        updates, state = transformation.update(gradients, state, weights)
        return row.their_updates(updates, state), state

    assert_same_steps(
        (init, step),
        (transformation.init, step_of_optax),
        lambda dtype: (draw_weights(row, dtype), draw_gradients(row, dtype)),
    )
