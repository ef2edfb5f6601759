"""Functions, schedules, dtypes and precisions: hyperparameters that name a computation."""

import functools
from typing import Any

import jax.numpy as jnp
from jax import lax

from ._errors import invalid, named
from ._numbers import is_number

PrecisionLike = lax.PrecisionLike


def function(owner: str, /, **value: Any) -> Any:
    """A hashable callable."""
    name, given = named(value)
    if not callable(given) or not is_hashable(given):
        expected = "a hashable function (a lambda is, a dict in a partial is not)"
        raise invalid(owner, name, expected, given)
    return given


def scheduled(owner: str, /, **value: Any) -> Any:
    """A finite number, or a hashable function of the step."""
    name, given = named(value)
    if is_number(given):
        return float(given)
    if not callable(given) or not is_hashable(given):
        expected = "a finite number or a schedule (a hashable function of the step)"
        raise invalid(owner, name, expected, given)
    return given


def schedule(owner: str, /, **value: Any) -> Any:
    """A hashable function of the step."""
    name, given = named(value)
    if not callable(given) or not is_hashable(given):
        expected = "a schedule (a hashable function of the step)"
        raise invalid(owner, name, expected, given)
    return given


def is_hashable(value: Any) -> bool:
    """Whether it may be a key of a dictionary, and so a hyperparameter."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


@functools.cache
def is_floating(dtype: Any) -> bool:
    """Whether it is floating, of 16 bits or more: narrower ones are for storing."""
    return bool(jnp.issubdtype(dtype, jnp.floating)) and dtype.itemsize > 1


def dtype(owner: str, /, **value: Any) -> Any:
    """A floating dtype."""
    name, given = named(value)
    try:
        if given is None:  # which numpy takes for float64
            raise TypeError
        # A float64 that 64-bit mode would not allow stays a float64.
        canonical = jnp.dtype(given)
    except TypeError:
        canonical = None
    if canonical is None or not is_floating(canonical):
        raise invalid(owner, name, 'a floating dtype, such as "bfloat16"', given)
    return canonical


def precision(owner: str, /, **value: Any) -> Any:
    """A `jax.lax.Precision`."""
    name, given = named(value)
    try:
        return lax.Precision(given)
    except ValueError:
        expected = '"default", "high" or "highest"'
        raise invalid(owner, name, expected, given) from None
