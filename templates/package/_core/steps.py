"""Steps of schedules, counted exactly: beyond 2**24 float32 has no odd numbers."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from .arrays import exact, floating


def steps_since(step: jax.Array, begin: int) -> jax.Array:
    """The number of steps since another one, exactly: an integer where `step` is one.

    Where no step can be as large as `begin`, it is negative.
    """
    if jnp.issubdtype(step.dtype, jnp.floating):
        return step - begin
    largest = int(jnp.iinfo(step.dtype).max)
    if begin > largest:
        return step - largest - 1
    return step - begin


def at_step(schedule: Callable[..., Any], step: ArrayLike) -> Any:
    """The value of a schedule. One that `takes_integers` gets an integer as it is.

    Any other function of the step gets a floating number.
    """
    takes_integers = getattr(schedule, "takes_integers", False)
    return schedule(exact(step) if takes_integers else floating(step))
