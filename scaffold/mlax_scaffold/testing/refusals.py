"""Contracts of what optimizers refuse, and what their errors say."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mlax_scaffold.testing.fitting import array
from mlax_scaffold.testing.optimizer import OptimizerCase
from mlax_scaffold.testing.optimizer_weights import taken, taken_shape, trees, weights
from mlax_scaffold.testing.oracle import Spec
from mlax_scaffold.testing.toys import with_optimizers


def assert_rejects_gradients(case: OptimizerCase) -> None:
    """Gradients of another structure, shape or dtype raise an error that names the path."""
    w, shape = taken_shape(case, (2, 3)), taken_shape(case, (3,))
    structs = {"a": {"w": array(w), "b": array(shape)}}
    state, hyperparams = jax.eval_shape(case.initialize, structs)
    for what, gradients, error in (
        ("structure", {"a": {"w": array(w)}}, ValueError),
        ("shape", {"a": {"w": array(w), "b": array((4, *shape[1:]))}}, ValueError),
        ("dtype", {"a": {"w": array(w), "b": array(shape, jnp.int32)}}, TypeError),
    ):
        try:
            jax.eval_shape(
                lambda g, s, p: case.take(g, s, p, hyperparams),
                gradients,
                state,
                structs,
            )
        except error as raised:
            if " a/b" not in str(raised) or case.name not in str(raised):
                raise AssertionError(
                    f"{case.name}: the error for gradients of another {what} names "
                    f"neither the optimizer nor the weight a/b: {raised}"
                ) from raised
        else:
            raise AssertionError(
                f"{case.name} takes gradients of another {what} than the weights"
            )


def assert_rejects_state(case: OptimizerCase) -> None:
    """A state that is None, or of another optimizer, raises a TypeError that says so."""
    params = {"w": array(taken_shape(case, (2, 3)))}
    _, hyperparams = jax.eval_shape(case.initialize, params)
    for state, shown in ((None, "None"), (AnotherState(), "AnotherState")):
        try:
            jax.eval_shape(
                lambda g, p, s=state: case.take(g, s, p, hyperparams), params, params
            )
        except TypeError as raised:
            missing = [t for t in (case.name, "init", shown) if t not in str(raised)]
            if missing:
                raise AssertionError(
                    f"{case.name}: the error for the state {shown} does not say "
                    f"{' and '.join(map(repr, missing))}: {raised}"
                ) from raised
        else:
            raise AssertionError(f"{case.name} takes the state {shown}")


class AnotherState(NamedTuple):
    """The state of no optimizer."""


def assert_rejects_weights(case: OptimizerCase) -> None:
    """Weights that are integers or complex raise a TypeError that names the path."""
    for dtype in (jnp.int32, jnp.complex64):
        params = {
            "a": array(taken_shape(case, (2, 3))),
            "b": array(taken_shape(case, (3,)), dtype),
        }
        try:
            jax.eval_shape(case.initialize, params)
        except TypeError as raised:
            missing = [
                text
                for text in (case.name, "weight b ", jnp.dtype(dtype).name)
                if text not in str(raised)
            ]
            if missing:
                raise AssertionError(
                    f"{case.name}: the error for weights in {jnp.dtype(dtype)} does not "
                    f"say {' and '.join(map(repr, missing))}: {raised}"
                ) from raised
        else:
            raise AssertionError(f"{case.name} takes weights in {jnp.dtype(dtype)}")


def assert_rejects_missing_inputs(case: OptimizerCase) -> None:
    """Without an input that it needs, `step` raises a ValueError that names it."""
    params = {"w": array(taken_shape(case, (2, 3)))}
    state, hyperparams = jax.eval_shape(case.initialize, params)
    for name in case.needs:
        others = tuple(other for other in case.needs if other != name)
        without = dataclasses.replace(case, needs=others)
        try:
            jax.eval_shape(
                lambda g, s, p, case=without: case.take(g, s, p, hyperparams),
                params,
                state,
                params,
            )
        except ValueError as raised:
            if case.name not in str(raised) or f"needs {name}," not in str(raised):
                raise AssertionError(
                    f"{case.name}: the error without {name} does not name it: {raised}"
                ) from raised
        else:
            raise AssertionError(f"{case.name} does without {name}")


def assert_names_masks(
    case: OptimizerCase, spec: Spec, init: Callable[..., Any]
) -> None:
    """A mask that selects no weight is an error that names it, or a warning where None would do."""
    fields = spec.load()._fields_
    params = weights(taken(case, trees()["dict"]))
    takes_weights = "trainables" in inspect.signature(init).parameters
    for name in fields.holding("mask"):
        selects = fields.word(name).of_one == "bool"
        none = _selects_none if selects else _no_matrix
        given = {**case.hyperparameters, name: none}
        made = functools.partial(init, *[params] * takes_weights)
        told = _told(lambda g=given, m=made: m(**with_optimizers(g, params)))
        optional = fields.annotations[name].type.optional
        kind = UserWarning if optional else ValueError
        text = f"{case.name}: {name} selects no weight"
        if not any(type(t) is kind and text in str(t) for t in told):
            raise AssertionError(
                f"{case.name}: where {name} selects no weight, it tells {told}, expected a "
                f"{kind.__name__} that says so"
            )


def _selects_none(path: str, weight: Any) -> bool:
    return False


def _no_matrix(path: str, weight: Any) -> str:
    return ""


def _told(call: Callable[[], Any]) -> list[Any]:
    """The warnings of a call, and the ValueError that it ends with."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            call()
        except ValueError as error:
            return [*(w.message for w in found), error]
        return [w.message for w in found]
