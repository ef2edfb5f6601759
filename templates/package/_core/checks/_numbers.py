"""Numbers and words: hyperparameters that are one value."""

import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, TypeVar

import jax

from ._errors import invalid, named

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


def is_integer(value: Any) -> bool:
    """Whether it is an integer, also of NumPy, and no truth value."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer that no float can hold
        return math.inf


def is_number(value: Any) -> bool:
    """Whether it is a finite real number, and no truth value."""
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(_float(value))
    )


_ARRAYS = ContextVar("_ARRAYS", default=False)


@contextmanager
def arrays_for_numbers() -> Iterator[None]:
    """While a step runs whose numbers are arrays, such an array is a number, too.

    Elsewhere it is refused: hyperparameters that are kept must be hashable.
    """
    token = _ARRAYS.set(True)
    try:
        yield
    finally:
        _ARRAYS.reset(token)


def _is_array(value: Any) -> bool:
    """Whether it is an array that stands for a number of Python."""
    return _ARRAYS.get() and isinstance(value, jax.Array) and value.weak_type


def optional(
    check: Callable[..., T], owner: str, /, *arguments: Any, **value: Any
) -> T | None:
    """None, or what another check takes."""
    [given] = value.values()
    return None if given is None else check(owner, *arguments, **value)


def size(owner: str, /, **value: Any) -> int:
    """An integer of at least 1."""
    name, given = named(value)
    if not is_integer(given) or given < 1:
        raise invalid(owner, name, "an integer of at least 1", given)
    return int(given)


def count(owner: str, /, **value: Any) -> int:
    """An integer of at least 0."""
    name, given = named(value)
    if not is_integer(given) or given < 0:
        raise invalid(owner, name, "an integer of at least 0", given)
    return int(given)


def integer(owner: str, /, **value: Any) -> int:
    """An integer."""
    name, given = named(value)
    if not is_integer(given):
        raise invalid(owner, name, "an integer", given)
    return int(given)


def boolean(owner: str, /, **value: Any) -> bool:
    """True or False."""
    name, given = named(value)
    if not isinstance(given, bool):
        raise invalid(owner, name, "True or False", given)
    return given


def string(owner: str, /, **value: Any) -> str:
    """A string."""
    name, given = named(value)
    if not isinstance(given, str):
        raise invalid(owner, name, "a string", given)
    return given


def choice(owner: str, choices: Sequence[str | int], /, **value: Any) -> Any:
    """One of the choices."""
    name, given = named(value)
    given = int(given) if is_integer(given) else given
    if type(given) not in (str, int) or given not in choices:
        expected = "one of " + ", ".join(map(repr, choices))
        raise invalid(owner, name, expected, given)
    return given


def member(owner: str, enumeration: type[E], /, **value: Any) -> E:
    """A member of an enumeration, by itself, its name, or a text that is its value."""
    name, given = named(value)
    # A class that is defined twice, as in a spec and what is generated from it, is the same.
    same = type(given).__name__ == enumeration.__name__
    for known in enumeration:
        if same and isinstance(given, Enum) and given.name == known.name:
            return known
        if isinstance(given, str) and given in (known.name, known.value):
            return known
    expected = ", ".join(repr(known.name) for known in enumeration)
    raise invalid(
        owner, name, f"a member of {enumeration.__name__}, of {expected}", given
    )


def number(owner: str, /, **value: Any) -> float:
    """A finite number."""
    name, given = named(value)
    if _is_array(given):
        return given
    if not is_number(given):
        raise invalid(owner, name, "a finite number", given)
    return float(given)


def extended(owner: str, /, **value: Any) -> float:
    """A number, or an infinite one."""
    name, given = named(value)
    if _is_array(given):
        return given
    if not is_number(given) and not (isinstance(given, float) and math.isinf(given)):
        raise invalid(owner, name, "a number, or an infinite one", given)
    return float(given)


def positive(owner: str, /, **value: Any) -> float:
    """A finite number above 0."""
    name, given = named(value)
    if _is_array(given):
        return given
    if not is_number(given) or given <= 0:
        raise invalid(owner, name, "a finite number above 0", given)
    return float(given)


def non_negative(owner: str, /, **value: Any) -> float:
    """A finite number of at least 0."""
    name, given = named(value)
    if _is_array(given):
        return given
    if not is_number(given) or given < 0:
        raise invalid(owner, name, "a finite number of at least 0", given)
    return float(given)


def fraction(owner: str, /, **value: Any) -> float:
    """A number above 0, at most 1."""
    name, given = named(value)
    if _is_array(given):
        return given
    if not is_number(given) or not 0 < given <= 1:
        raise invalid(owner, name, "a number above 0, at most 1", given)
    return float(given)


def decay(owner: str, **value: Any) -> float:
    """A number of at least 0, below 1."""
    name, given = named(value)
    if _is_array(given):
        return given
    if not is_number(given) or not 0 <= given < 1:
        raise invalid(owner, name, "a number of at least 0, below 1", given)
    return float(given)


def probability(owner: str, /, **value: Any) -> float:
    """A number from 0 to 1."""
    name, given = named(value)
    if _is_array(given):
        return given
    if not is_number(given) or not 0 <= given <= 1:
        raise invalid(owner, name, "a number from 0 to 1", given)
    return float(given)
