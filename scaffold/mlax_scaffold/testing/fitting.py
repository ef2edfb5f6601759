"""What generated tests build cases with, and the contract of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import hypothesis
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.testing._functions import abstract_key
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.dtypes import precision_for

NOT_TAKEN = "no layer takes the keyword input"
"""What the error says of a keyword input that a block cannot hand to its layers."""


def array(shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> jax.ShapeDtypeStruct:
    """An input of that shape; a floating dtype is replaced by that of the test."""
    return jax.ShapeDtypeStruct(tuple(shape), jnp.dtype(dtype))


def declared(*dtypes: DTypeLike | None) -> tuple[DTypeLike, ...]:
    """The dtypes that are given: what a layer may compute in beside that of its input."""
    return tuple(dtype for dtype in dtypes if dtype is not None)


def exact(*dtypes: DTypeLike | None) -> bool:
    """Whether a float64 computation stays exact enough for finite differences."""
    return all(d is None or jnp.dtype(d) == jnp.float64 for d in dtypes)


def smallest(*sizes: Any) -> int:
    """The smallest of the sizes among some values: what an index may be below of."""
    found = [s for s in sizes if isinstance(s, int) and not isinstance(s, bool)]
    return max(1, min(found, default=1))


def known(hyperparams: Any, per_dim: Sequence[str] = ()) -> dict[str, Any]:
    """The hyperparameters that shapes may name: integers, booleans, tuples of integers.

    Those called `per_dim` may be one value for all spatial axes: they become tuples.
    """
    fields = hyperparams if isinstance(hyperparams, Mapping) else vars(hyperparams)
    for name in per_dim:
        if isinstance(value := fields[name], int):
            fields = {**fields, name: (value,) * fields["spatial_dims"]}
    return {
        name: value
        for name, value in fields.items()
        if _may_be_named(value) and not name.startswith("_")
    }


def _may_be_named(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(part, int) for part in value)
    return isinstance(value, int)


def fitting_hyperparams(
    init: Callable[[Any, Any], Any], requirements: Iterable[str]
) -> Any:
    """The hyperparameters that `init` makes of what was drawn, if it meets the requirements."""
    try:
        key = abstract_key()
        return jax.eval_shape(lambda key: init(key, jnp.float32), key)[2]
    except ValueError as error:
        _reject(error, tuple(requirements))
        raise


def fitting_schedule(make: Callable[[], Any], requirements: Iterable[str]) -> Any:
    """The schedule, where what was drawn meets the requirements."""
    try:
        return make()
    except ValueError as error:
        _reject(error, tuple(requirements))
        raise


def _reject(error: ValueError, requirements: tuple[str, ...]) -> None:
    """Reject an example that a requirement refuses; other errors are errors of the layer."""
    if any(message in str(error) for message in requirements):
        hypothesis.reject()


def fitting(case: Case, requirements: Iterable[str] = ()) -> Case:
    """The case, where its hyperparameters and inputs meet the requirements of the spec.

    Others are rejected, by the messages of those requirements alone: any other error is
    an error of the layer.
    """
    requirements = tuple(requirements)
    if not requirements and not case.inputs:
        return case
    try:
        for training in case.modes():
            trace(case, training, abstract_key())
    except ValueError as error:
        _reject(error, requirements)
        raise
    except TypeError as error:
        # A block was given an input for its layers that these layers do not have.
        if NOT_TAKEN in str(error):
            hypothesis.reject()
        raise
    return case


def assert_initial_carry(case: Case, dtype: DTypeLike) -> None:
    """The first carry of a cell is what its steps take and return. Only traces."""
    with precision_for(dtype):
        arguments = case.abstract_arguments(dtype, dtype)
        inputs, carry = arguments.x
        made = jax.eval_shape(
            lambda: arguments.hyperparams.initial_carry(inputs.shape, inputs.dtype)
        )
    assert made == carry, f"{case.name}: initial_carry makes {made}, not {carry}"


def assert_key_contract(case: Case) -> None:
    """A key is used, and then asked for where it is missing, or it is not needed. Only traces."""
    if not case.draws_keys:
        trace(case, True, None)
        return
    key = abstract_key()
    used = _uses_key(case, key)
    try:
        trace(case, True, None)
    except ValueError as error:
        if "key" not in str(error):
            raise
        return
    if used and not case.key_optional:
        raise AssertionError(
            f"{case.name} draws random numbers in training, but without a key it "
            "raises no ValueError that says so"
        )


def _uses_key(case: Case, key: Any) -> bool:
    arguments = case.abstract_arguments(jnp.float32, jnp.float32)
    traced = jax.make_jaxpr(
        lambda key, x, t, n, inputs: case.call(
            arguments._replace(x=x, trainables=t, non_trainables=n, inputs=inputs),
            training=True,
            key=key,
        )
    )(
        key,
        arguments.x,
        arguments.trainables,
        arguments.non_trainables,
        arguments.inputs,
    )
    # Backwards from the results: a key that is split for nothing is not used.
    live = {id(v) for v in traced.jaxpr.outvars}
    for eqn in reversed(traced.jaxpr.eqns):
        if any(id(v) in live for v in eqn.outvars):
            live |= {id(v) for v in eqn.invars}
    return id(traced.jaxpr.invars[0]) in live


def trace(case: Case, training: bool, key: Any) -> Any:
    """The abstract result of a call. Compiles nothing."""
    arguments = case.abstract_arguments(jnp.float32, jnp.float32)

    def call(x: Any, trainables: Any, state: Any, inputs: Any, key: Any) -> Any:
        given = arguments._replace(
            x=x, trainables=trainables, non_trainables=state, inputs=inputs
        )
        return case.call(given, training=training, key=key)

    return jax.eval_shape(
        call,
        arguments.x,
        arguments.trainables,
        arguments.non_trainables,
        arguments.inputs,
        key,
    )
