"""Sizes, axes and paddings: hyperparameters that are sequences."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from jax.export import is_symbolic_dim

from ._errors import invalid, named
from ._numbers import choice, is_integer, member, size

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


PaddingLike = str | int | Sequence[int | tuple[int, int]]


Padding = str | tuple[tuple[int, int], ...]


def sizes(owner: str, /, **value: Any) -> tuple[int, ...]:
    """A tuple of integers of at least 1."""
    name, given = named(value)
    if (
        not isinstance(given, Sequence)
        or isinstance(given, str)
        or not all(is_integer(part) and part >= 1 for part in given)
    ):
        raise invalid(owner, name, "a sequence of integers of at least 1", given)
    return tuple(map(int, given))


def shape(owner: str, /, **value: Any) -> tuple[int, ...]:
    """A tuple of integers of at least 0."""
    name, given = named(value)
    if (
        not isinstance(given, Sequence)
        or isinstance(given, str)
        or not all(_is_axis_size(part) and part >= 0 for part in given)
    ):
        raise invalid(owner, name, "a sequence of integers of at least 0", given)
    return tuple(int(part) if is_integer(part) else part for part in given)


def _is_axis_size(value: Any) -> bool:
    """Whether it is an integer, or a symbol of one, as shapes have in `jax.export`."""
    return is_integer(value) or is_symbolic_dim(value)


def new_shape(owner: str, /, **value: Any) -> tuple[int, ...]:
    """A tuple of integers of at least 0, of which one may be -1."""
    name, given = named(value)
    if (
        not isinstance(given, Sequence)
        or isinstance(given, str)
        or not all(is_integer(part) and part >= -1 for part in given)
        or sum(part == -1 for part in given) > 1
    ):
        expected = "a sequence of integers of at least 0, one of which may be -1"
        raise invalid(owner, name, expected, given)
    return tuple(map(int, given))


def sequence(owner: str, element: Callable[..., T], /, **value: Any) -> tuple[T, ...]:
    """A tuple of what another check takes."""
    name, given = named(value)
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise invalid(owner, name, "a sequence", given)
    return tuple(
        element(owner, **{f"{name}[{i}]": part}) for i, part in enumerate(given)
    )


def choices(
    owner: str, choices: Sequence[str | int], /, **value: Any
) -> tuple[Any, ...]:
    """A tuple of which each is one of the choices."""

    def of_one(owner: str, /, **value: Any) -> Any:
        return choice(owner, choices, **value)

    return sequence(owner, of_one, **value)


def members(owner: str, enumeration: type[E], /, **value: Any) -> tuple[E, ...]:
    """A tuple of members of an enumeration."""

    def of_one(owner: str, /, **value: Any) -> E:
        return member(owner, enumeration, **value)

    return sequence(owner, of_one, **value)


def row(
    owner: str, parts: tuple[Callable[..., Any], ...], /, **value: Any
) -> tuple[Any, ...]:
    """A tuple of one value for each of several checks."""
    name, given = named(value)
    if (
        not isinstance(given, Sequence)
        or isinstance(given, str)
        or len(given) != len(parts)
    ):
        raise invalid(owner, name, f"a sequence of {len(parts)} values", given)
    return tuple(
        part(owner, **{f"{name}[{i}]": item})
        for i, (part, item) in enumerate(zip(parts, given, strict=True))
    )


def rows(
    owner: str, parts: tuple[Callable[..., Any], ...], /, **value: Any
) -> tuple[tuple[Any, ...], ...]:
    """A tuple of such tuples; those of a mapping are its items."""
    name, given = named(value)
    if isinstance(given, Mapping):
        given = tuple(given.items())

    def of_one(owner: str, /, **value: Any) -> tuple[Any, ...]:
        return row(owner, parts, **value)

    return sequence(owner, of_one, **{name: given})


def boundaries(owner: str, /, **value: Any) -> tuple[int, ...]:
    """Increasing integers of at least 1."""
    name, given = named(value)
    steps = sequence(owner, size, **{name: given})
    if list(steps) != sorted(set(steps)):
        raise invalid(owner, name, "an increasing sequence", given)
    return steps


def per_dim(
    owner: str, element: Callable[..., int], dims: int, /, **value: Any
) -> tuple[int, ...]:
    """One value for each spatial axis, from one for all or a sequence."""
    name, given = named(value)
    if is_integer(given):
        given = (given,) * dims
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != dims:
        raise invalid(owner, name, f"an integer, or {dims} of them", given)
    return tuple(element(owner, **{name: part}) for part in given)


def padding(owner: str, dims: int, /, **value: Any) -> Padding:
    """A word in upper case, or a pair for each spatial axis."""
    name, given = named(value)
    words = ("SAME", "SAME_LOWER", "VALID", "CAUSAL")
    if isinstance(given, str) and given.upper() in words:
        return given.upper()
    pairs = [given] * dims if is_integer(given) else given
    if isinstance(pairs, Sequence) and not isinstance(pairs, str):
        pairs = [(pair, pair) if is_integer(pair) else pair for pair in pairs]
        if len(pairs) == dims and all(_is_pair(pair) for pair in pairs):
            return tuple((int(low), int(high)) for low, high in pairs)
    shown = ", ".join(f'"{word}"' for word in words)
    expected = f"{shown}, an integer, or {dims} integers or pairs"
    raise invalid(owner, name, expected, given)


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and len(value) == 2
        and all(is_integer(part) and part >= 0 for part in value)
    )


def axes(owner: str, /, **value: Any) -> tuple[int, ...]:
    """A tuple of axes, none of them twice."""
    name, given = named(value)
    parts = (given,) if is_integer(given) else given
    if (
        not isinstance(parts, Sequence)
        or isinstance(parts, str)
        or not all(map(is_integer, parts))
        or len(set(parts)) != len(parts)
    ):
        raise invalid(owner, name, "an axis or different axes", given)
    return tuple(map(int, parts))


def axis_name(owner: str, /, **value: Any) -> str | tuple[str, ...]:
    """The name of a mapped axis, or a tuple of names."""
    name, given = named(value)
    if isinstance(given, str):
        return given
    if (
        not isinstance(given, Sequence)
        or not given
        or not all(isinstance(part, str) for part in given)
    ):
        raise invalid(owner, name, "the name of a mapped axis, or names", given)
    return tuple(given)
