"""What is claimed of schedules. Everything here only traces, where that decides."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.testing.audit import assert_dtypes
from mlax_scaffold.testing.copies import assert_equal_copies
from mlax_scaffold.testing.dtypes import FLOAT_DTYPES, precision_for
from mlax_scaffold.testing.oracle import Spec, assert_spec_refuses
from mlax_scaffold.testing.picks import REFUSALS, UNTRACED, Pick, Refused
from mlax_scaffold.testing.programs import Program, assert_same_programs
from mlax_scaffold.testing.strategies import Domain, choices

_STEP = jax.ShapeDtypeStruct((), jnp.float32)


@dataclass(frozen=True, eq=False)
class ScheduleSituation:
    """A schedule of these hyperparameters, what it follows from, and the dtype of the step."""

    schedule: Any
    spec: Spec
    dtype: Any
    hyperparameters: Mapping[str, Any]

    @classmethod
    def pick(
        cls,
        make: Callable[[Pick], Any],
        spec: Spec,
        pick: Pick,
        requirements: tuple[str, ...],
        unsaid: bool = False,
    ) -> ScheduleSituation:
        """A situation. Raises Refused where what was picked does not meet the requirements.

        `unsaid` says whether the code of the spec may refuse it, and no requirement tell it.
        """
        dtype = pick("dtype of the step", choices(*FLOAT_DTYPES[2:]))
        given: dict[str, Any] = {}

        def noted(name: str, domain: Domain[Any]) -> Any:
            given[name] = pick(name, domain)
            return given[name]

        try:
            found = cls(make(noted), spec, dtype, given)
            if unsaid:
                _ = found.program
                # In 32 bits an integer may be too large.
                jax.eval_shape(found.schedule, _STEP)
            return found
        except UNTRACED:
            raise
        except REFUSALS as error:
            if isinstance(error, ValueError) and any(
                message in str(error) for message in requirements
            ):
                assert_spec_refuses(spec, _of_spec(spec, given), error)
            elif not (unsaid and _refuses(spec, given, dtype)):
                raise
            raise Refused(given, error) from error

    @functools.cached_property
    def program(self) -> Program:
        """The value at a step."""
        with precision_for(self.dtype):
            return Program.of(self.schedule, jax.ShapeDtypeStruct((), self.dtype))


def compute_what_the_spec_says(situation: ScheduleSituation) -> None:
    """The value is that of the spec, from step 0 to far beyond its end.

    Integers have a program of their own: they are counted exactly.
    """
    schedule, spec = situation.schedule, situation.spec
    expected = spec.load()(**_of_spec(spec, situation.hyperparameters))
    with precision_for(jnp.float64):
        for dtype in (jnp.float64, jnp.int32):
            counts = jnp.asarray([0, 1, 2, 3, 7, 20, 100, 1_000_000], dtype)
            assert_same_programs(
                Program.of(jax.vmap(expected), counts),
                Program.of(jax.vmap(schedule), counts),
                functools.partial(list, [counts]),
                jnp.float64,
                what=f"{schedule}",
                spec=situation.spec.path,
            )


def _refuses(spec: Spec, given: Mapping[str, Any], dtype: Any) -> bool:
    """Whether the code of the spec has no value for what was picked, as `0 ** -1` has none."""
    try:
        expected = spec.load()(**_of_spec(spec, given))
        Program.of(expected, jax.ShapeDtypeStruct((), dtype))
        jax.eval_shape(expected, _STEP)
    except REFUSALS:
        return True
    return False


def _of_spec(spec: Spec, given: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters among what was picked."""
    fields = spec.load()._fields_.annotations
    return {name: given[name] for name in fields if name in given}


def be_static(situation: ScheduleSituation) -> None:
    """It is hashable, equal by value, and a pytree without leaves, so that jit takes it."""
    schedule = situation.schedule
    again = dataclasses.replace(schedule)
    if schedule != again or hash(schedule) != hash(again):
        raise AssertionError(
            f"{schedule} is not equal to a copy, or hashes differently"
        )
    if jax.tree.leaves(schedule):
        raise AssertionError(f"{schedule} has leaves: jit would trace them")
    assert_equal_copies(schedule, what=type(schedule).__name__)


def keep_the_dtype(situation: ScheduleSituation) -> None:
    """The value has the dtype of the step, and nothing is computed in another."""
    value, dtype = situation.program.out, situation.dtype
    if value.shape != () or value.dtype != dtype:
        raise AssertionError(
            f"{situation.schedule} gives {value} for a step in {dtype}"
        )
    with precision_for(dtype):
        assert_dtypes(situation.program.jaxpr, (dtype,), what=f"{situation.schedule}")


def take_integers_and_arrays(situation: ScheduleSituation) -> None:
    """Integers are taken in the default float dtype; arrays of steps give arrays."""
    for dtype in (jnp.int32, jnp.uint8, jnp.float32):
        step = jax.ShapeDtypeStruct((2, 3), dtype)
        value = jax.eval_shape(situation.schedule, step)
        expected = (
            dtype if jnp.issubdtype(dtype, jnp.floating) else jnp.result_type(float)
        )
        if value.shape != (2, 3) or value.dtype != expected or value.weak_type:
            raise AssertionError(f"{situation.schedule} gives {value} for {step}")
