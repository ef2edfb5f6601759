"""Contracts of a schedule."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.testing.audit import assert_dtypes
from mlax_scaffold.testing.dtypes import precision_for


def assert_static_schedule(schedule: Any) -> None:
    """It is hashable, equal by value, and a pytree without leaves, so that jit takes it."""
    again = dataclasses.replace(schedule)
    if schedule != again or hash(schedule) != hash(again):
        raise AssertionError(
            f"{schedule} is not equal to a copy, or hashes differently"
        )
    if jax.tree.leaves(schedule):
        raise AssertionError(f"{schedule} has leaves: jit would trace them")
    traces = 0

    def call(schedule: Any, step: Any) -> Any:
        nonlocal traces
        traces += 1
        return schedule(step)

    traced = jax.jit(call)
    step = jax.ShapeDtypeStruct((), jnp.float32)
    traced.trace(schedule, step)
    traced.trace(again, step)
    if traces != 1:
        raise AssertionError(f"jit traces {schedule} {traces} times, expected once")


def assert_schedule_dtype(schedule: Any, dtype: DTypeLike) -> None:
    """The value has the dtype of the step, and nothing is computed in another. Only traces."""
    with precision_for(dtype):
        step = jax.ShapeDtypeStruct((), jnp.dtype(dtype))
        jaxpr, value = jax.make_jaxpr(schedule, return_shape=True)(step)
        if value.shape != () or value.dtype != jnp.dtype(dtype):
            raise AssertionError(f"{schedule} gives {value} for a step in {dtype}")
        assert_dtypes(jaxpr, (dtype,), what=f"{schedule}")


def assert_schedule_of_integers(schedule: Any) -> None:
    """Integers are taken in the default float dtype; arrays of steps give arrays. Only traces."""
    for dtype in (jnp.int32, jnp.uint8, jnp.float32):
        step = jax.ShapeDtypeStruct((2, 3), dtype)
        value = jax.eval_shape(schedule, step)
        if value.shape != (2, 3) or value.dtype != jnp.float32 or value.weak_type:
            raise AssertionError(f"{schedule} gives {value} for {step}")
