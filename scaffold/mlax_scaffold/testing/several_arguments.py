"""What takes any number of arguments, `def __init__(self, *sizes)`, given one tuple of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def called_with(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """What a function makes of arguments by name, of which one may be such a tuple."""
    known = [*inspect.signature(function).parameters.values()]
    at = next(
        (
            i
            for i, p in enumerate(known)
            if p.kind is p.VAR_POSITIONAL and p.name in given
        ),
        None,
    )
    if at is None:
        return function(**given)
    first = [given.get(p.name, p.default) for p in known[:at]]
    taken = {p.name for p in known[: at + 1]}
    rest = {name: value for name, value in given.items() if name not in taken}
    return function(*first, *given[known[at].name], **rest)


def spread(function: Callable[..., Any], given: Sequence[Any]) -> Sequence[Any]:
    """Arguments by place, of which the last may be such a tuple."""
    known = inspect.signature(function).parameters.values()
    at = next((i for i, p in enumerate(known) if p.kind is p.VAR_POSITIONAL), None)
    if at is None or len(given) != at + 1 or not isinstance(given[at], tuple | list):
        return given
    return [*given[:at], *given[at]]


def by_name(
    function: Callable[..., Any], given: Sequence[Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Arguments by place, and those beyond the places by name: first what has to be given."""
    known = inspect.signature(function).parameters.values()
    placed = [
        p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if any(p.kind is p.VAR_POSITIONAL for p in known) or len(given) <= len(placed):
        return given, {}
    named = [p for p in known if p.kind is p.KEYWORD_ONLY]
    named.sort(key=lambda p: p.default is not p.empty)
    beyond = given[len(placed) :]
    titles = [p.name for p in named[: len(beyond)]]
    return given[: len(placed)], dict(zip(titles, beyond, strict=True))
