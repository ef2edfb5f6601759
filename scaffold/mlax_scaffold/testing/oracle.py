"""Compares generated code with the spec that it follows from, which runs eagerly."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.spec.loading import load
from mlax_scaffold.testing.case import Arguments, Case
from mlax_scaffold.testing.compare import assert_matches
from mlax_scaffold.testing.dtypes import precision_for


def assert_matches_spec(
    case: Case, spec: str, root: str | None = None, dtype: DTypeLike = jnp.float64
) -> None:
    """`fwd` gives the values and the state of the spec, in training and inference.

    Both run in one compiled program.
    """
    definition = load(spec, root)
    for training in case.modes():
        with precision_for(dtype):
            arguments = case.arguments(dtype, dtype)
            hyperparams = arguments.hyperparams
            key = jax.random.key(1) if training and case.draws_keys else None

            @jax.jit
            def both(x, trainables, non_trainables, inputs, key):
                given = Arguments(x, trainables, non_trainables, hyperparams, inputs)  # noqa: B023
                expected = _run_spec(definition, given, training, key)  # noqa: B023
                return expected, case.call(given, training=training, key=key)  # noqa: B023

            (y, state), (actual_y, actual_state) = both(
                arguments.x,
                arguments.trainables,
                arguments.non_trainables,
                arguments.inputs,
                key,
            )
            mode = "training" if training else "inference"
            what = f"{case.name} in {mode}"
            assert_matches(y, actual_y, dtype, what=f"{what}: the output")
            assert_matches(
                state, _fields(actual_state, state), dtype, what=f"{what}: the state"
            )


def assert_function_matches_spec(
    case: Case,
    spec: str,
    hyperparameters: Mapping[str, Any],
    root: str | None = None,
    dtype: DTypeLike = jnp.float64,
) -> None:
    """A function gives the value of its spec. Both run in one compiled program."""
    definition = load(spec, root)
    with precision_for(dtype):
        arguments = case.arguments(dtype, dtype)

        @jax.jit
        def both(x):
            given = arguments._replace(x=x)
            return definition(*x, **hyperparameters), case.call(given)[0]

        expected, actual = both(arguments.x)
        assert_matches(expected, actual, dtype, what=case.name)


def _run_spec(
    definition: Any, arguments: Arguments, training: bool, key: Any
) -> tuple[Any, Any]:
    layer = definition(**_hyperparameters(definition, arguments))
    layer.load(arguments.trainables, arguments.non_trainables)
    x = arguments.x
    several = len(_positional(definition.forward)) > 1
    y = layer(*(x if several else (x,)), training=training, key=key, **arguments.inputs)
    return y, layer.non_trainables


def _positional(method: Any) -> list[str]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]


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
        value = getattr(arguments.hyperparams, name)
        if name in structural:
            trees = (
                getattr(arguments.trainables, name),
                getattr(arguments.non_trainables, name),
                value,
            )
            many = structural[name] == "SubLayers"
            value = list(zip(*trees, strict=True)) if many else trees
        given[name] = value
    return given


def _fields(actual: Any, expected: Any) -> Any:
    """The generated state as the spec gives it: dicts in the place of NamedTuples."""
    if isinstance(expected, Mapping):
        return {name: _fields(getattr(actual, name), v) for name, v in expected.items()}
    return actual
