"""Compares generated code with the spec that it follows from, which runs eagerly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

import mlax_scaffold
from mlax_scaffold.spec.loading import load
from mlax_scaffold.testing.case import Arguments, Case, cast
from mlax_scaffold.testing.compare import (
    assert_matches,
    assert_same_results,
    program_unless_same,
)
from mlax_scaffold.testing.dtypes import precision_for
from mlax_scaffold.testing.optimizer import (
    OptimizerCase,
    inputs_of_step,
    trees,
    weights,
)


@dataclass(frozen=True)
class Spec:
    """Where a spec is, and the folder that imports of specs of its project start from."""

    path: Path
    root: Path

    def load(self) -> Any:
        """The definition. This executes the spec."""
        return load(self.path, self.root)


def find_spec(path: str, near: str) -> Spec:
    """The spec of that path, relative to the project that the file `near` belongs to.

    A path that begins with `mlax_scaffold/` is one of the specs that come with the generator.

    Raises:
        FileNotFoundError: where no folder above `near` has it.
    """
    for folder in Path(near).resolve().parents:
        if (folder / path).is_file():
            return Spec(folder / path, folder)
    installed = Path(mlax_scaffold.__file__).resolve().parent.parent
    if path.startswith("mlax_scaffold/") and (installed / path).is_file():
        return Spec(installed / path, installed)
    raise FileNotFoundError(
        f"no folder above {near} has the spec {path}: run `mlax-scaffold generate`"
    )


def assert_matches_spec(case: Case, spec: Spec, dtype: DTypeLike = jnp.float64) -> None:
    """`fwd` gives the values and the state of the spec, in training and inference."""
    definition = spec.load()
    with precision_for(dtype):
        arguments = case.arguments(dtype, dtype)
        hyperparams = arguments.hyperparams
        for training in case.modes():
            key = jax.random.key(1) if training and case.draws_keys else None

            def both(x, trainables, non_trainables, inputs, key):
                given = Arguments(x, trainables, non_trainables, hyperparams, inputs)
                y, state = _run_spec(definition, given, training, key)  # noqa: B023
                actual, new_state = case.call(given, training=training, key=key)  # noqa: B023
                return (y, state), (actual, _fields(new_state, state))

            assert_same_results(
                both,
                arguments.x,
                arguments.trainables,
                arguments.non_trainables,
                arguments.inputs,
                key,
                dtype=dtype,
                what=f"{case.name} in {'training' if training else 'inference'}: y and state",
            )


def assert_function_matches_spec(
    case: Case,
    spec: Spec,
    hyperparameters: Mapping[str, Any],
    dtype: DTypeLike = jnp.float64,
) -> None:
    """A function gives the value of its spec."""
    definition = spec.load()
    with precision_for(dtype):
        arguments = case.arguments(dtype, dtype)

        def both(x):
            given = arguments._replace(x=x)
            return definition(*x, **hyperparameters), case.call(given)[0]

        assert_same_results(both, arguments.x, dtype=dtype, what=case.name)


def _run_spec(
    definition: Any, arguments: Arguments, training: bool, key: Any
) -> tuple[Any, Any]:
    layer = definition(**_hyperparameters(definition, arguments))
    layer.load(arguments.trainables, arguments.non_trainables)
    y = layer(arguments.x, training=training, key=key, **arguments.inputs)
    return y, layer.non_trainables


def _hyperparameters(definition: Any, arguments: Arguments) -> dict[str, Any]:
    """Arguments of the spec, from the generated trees and hyperparameters."""
    fields = definition._fields
    structural = {
        name: word
        for word in ("SubLayer", "SubLayers", "Cell", "Stacked")
        for name in fields.named(word)
    }
    given: dict[str, Any] = {}
    for name in fields.annotations:
        if name in fields.initializers:
            continue
        value = getattr(arguments.hyperparams, name)
        if name in structural:
            weights = getattr(arguments.trainables, name)
            state = getattr(arguments.non_trainables, name)
            if structural[name] == "SubLayers":
                states = (None,) * len(value) if state is None else state
                value = list(zip(weights, states, value, strict=True))
            else:
                value = weights, state, value
        given[name] = value
    return given


def _fields(actual: Any, expected: Any) -> Any:
    """The generated state as the spec gives it: dicts in the place of NamedTuples."""
    if isinstance(expected, Mapping):
        return {name: _fields(getattr(actual, name), v) for name, v in expected.items()}
    if type(expected) is tuple:
        return tuple(_fields(a, e) for a, e in zip(actual, expected, strict=True))
    return actual


def assert_optimizer_matches_spec(
    case: OptimizerCase, spec: Spec, steps: int = 3
) -> None:
    """`step` gives the updates and the state of the spec, for several steps in float64."""
    definition = spec.load()
    with precision_for(jnp.float64):
        structs = cast(trees()["dict"], jnp.float64)
        params = weights(structs)
        state, hyperparams = case.initialize(params)
        optimizer = definition(
            **_optimizer_hyperparameters(definition, state, hyperparams)
        )

        def both(gradients: Any, state: Any, params: Any) -> Any:
            optimizer.load(state)
            inputs = inputs_of_step(gradients, params)
            given = {name: inputs[name] for name in case.needs}
            updates = optimizer.step(case.given(gradients), params, **given)
            fields = {name: optimizer.state[name] for name in state._fields}
            actual, new = case.take(gradients, state, params, hyperparams)
            return (updates, type(new)(**fields)), (actual, new)

        gradients = weights(structs, seed=1)
        what = f"{case.name}: updates and state"
        program = program_unless_same(both, gradients, state, params, what=what)
        if program is None:
            return
        for number in range(steps):
            gradients = weights(structs, seed=1 + number)
            expected, actual = program(gradients, state, params)
            what = f"{case.name} in step {number + 1}: updates and state"
            assert_matches(expected, actual, jnp.float64, what=what)
            updates, state = actual
            params = jax.tree.map(jnp.add, params, updates)


def _optimizer_hyperparameters(
    definition: Any, state: Any, hyperparams: Any
) -> dict[str, Any]:
    given = {n: getattr(hyperparams, n) for n in definition._fields.annotations}
    for name in definition._fields.named("SubOptimizers"):
        given[name] = list(zip(getattr(state, name), given[name], strict=True))
    for name in definition._fields.named("SubOptimizer"):
        given[name] = (getattr(state, name), given[name])
    return given


def assert_schedule_matches_spec(schedule: Any, spec: Spec) -> None:
    """A schedule gives the value of its spec, from step 0 to far beyond its end."""
    definition = spec.load()
    with precision_for(jnp.float64):
        fields = definition._fields.annotations
        expected = definition(**{name: getattr(schedule, name) for name in fields})
        counts = jnp.asarray([0.0, 1.0, 2.0, 3.0, 7.0, 20.0, 100.0, 1e6])
        assert_same_results(
            lambda counts: (jax.vmap(expected)(counts), jax.vmap(schedule)(counts)),
            counts,
            dtype=jnp.float64,
            what=type(schedule).__name__,
        )
