"""Hyperparameters of an optimizer that are arrays of its state."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core.primitives import convert_element_type_p

from . import checks, placement
from .checks._numbers import arrays_for_numbers
from .static import InitializedOptimizer, OfOptimizer, OptimizerHyperparams, static
from .steps import at_step
from .trees import incremented


class InjectState(NamedTuple):
    """State of `inject`."""

    step: jax.Array
    """Number of steps so far."""
    values: dict[str, jax.Array]
    """The hyperparameters, by name, that the next step takes; of a schedule, that the last one took."""
    optimizer: Any


@static
class InjectHyperparams(OfOptimizer):
    """Hyperparameters of `inject`: canonical, hashable, static."""

    optimizer: OptimizerHyperparams
    """The optimizer."""
    schedules: dict[str, Callable[..., Any]]
    """The hyperparameters that follow a schedule."""

    def apply(
        self, gradients: Any, state: InjectState, trainables: Any, **inputs: Any
    ) -> tuple[Any, InjectState]:
        """A step of the optimizer with these numbers."""
        values = dict(state.values)
        for name, schedule in self.schedules.items():
            value = at_step(schedule, state.step)
            values[name] = jnp.asarray(value).astype(values[name].dtype)
        optimizer = _with(self.optimizer, values)
        try:
            with arrays_for_numbers():
                updates, inner = optimizer.apply(
                    gradients, state.optimizer, trainables, **inputs
                )
        except jax.errors.ConcretizationTypeError as error:
            raise ValueError(
                f"inject: one of {', '.join(values)} decides what {_name(self.optimizer)} "
                "computes, and cannot be an array; leave it out"
            ) from error
        return updates, InjectState(incremented(state.step), values, inner)

    def initial_state(self, trainables: Any) -> InjectState:
        """Refused: what its numbers were at first, the state alone knows."""
        raise ValueError(
            f"inject: an optimizer that makes the state of {_name(self.optimizer)} anew "
            "does not know its first numbers; call inject for the optimizer around it"
        )


def inject(
    optimizer: InitializedOptimizer, **values: Any
) -> tuple[InjectState, InjectHyperparams]:
    """An optimizer whose hyperparameters of some names are arrays of its state.

        optimizer = Adam.init(trainables, 1e-3)
        state, hyperparams = inject(optimizer, learning_rate=1e-3, b1=schedule)
        rate = jnp.full_like(state.values["learning_rate"], 3e-4)
        state = state._replace(values=state.values | {"learning_rate": rate})

    Another number in the hyperparameters of an optimizer is another program, which jit has
    to trace. An array of the state may be set between steps, be traced where the state is
    created, be mapped over (`jax.vmap` over states tries several learning rates at once),
    and have a gradient. A number is not checked again where it is an array.

    Args:
        optimizer: an initialized optimizer.
        **values: for names of its hyperparameters that are numbers, the number, an array
            of no axes, or a schedule (a hashable function of the step).

    Returns:
        `(state, hyperparams)`.

    Raises:
        ValueError: where a name is none of a number of the optimizer.
    """
    state, hyperparams = checks.sub_optimizer("inject", optimizer=optimizer)
    numbers = [
        field.name
        for field in fields(hyperparams)
        if _is_number(getattr(hyperparams, field.name))
    ]
    arrays, schedules = {}, {}
    for name, value in values.items():
        if name not in numbers:
            raise ValueError(
                f"inject: {name!r} is no number among the hyperparameters of "
                f"{_name(hyperparams)}; those are {', '.join(numbers) or 'none'}"
            )
        first = value
        if callable(value):
            schedules[name] = checks.schedule("inject", **{name: value})
            first = at_step(value, jnp.zeros((), jnp.int32))
        arrays[name] = jnp.asarray(first, jnp.result_type(float))
        if arrays[name].shape:
            raise ValueError(
                f"inject: {name} must be one number, got an array of shape "
                f"{arrays[name].shape}"
            )
    made = InjectHyperparams(hyperparams, schedules)
    return InjectState(placement.create_count(state), arrays, state), made


def _is_number(value: Any) -> bool:
    """Whether a hyperparameter is a number that an array may stand for, or a schedule."""
    return isinstance(value, float) or callable(value)


def _name(hyperparams: Any) -> str:
    return type(hyperparams).__name__.removesuffix("Hyperparams")


def _with(hyperparams: Any, values: dict[str, jax.Array]) -> Any:
    """Hyperparameters with arrays in the place of numbers, for one step.

    Arrays of a weak type widen nothing: numbers of Python are such ones.
    """
    changed = object.__new__(type(hyperparams))
    changed.__dict__.update(hyperparams.__dict__)
    for name, value in values.items():
        changed.__dict__[name] = _weak(value)
    return changed


def _weak(value: jax.Array) -> jax.Array:
    # `lax.convert_element_type(value, float)` leaves an array of that dtype as it is.
    return convert_element_type_p.bind(
        value, new_dtype=value.dtype, weak_type=True, sharding=None
    )
