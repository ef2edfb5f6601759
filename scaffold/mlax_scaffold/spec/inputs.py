"""The inputs of an entry point, as `fwd` takes them: `x`, and those that are given by their names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def positional(entry: Callable[..., Any]) -> tuple[str, ...]:
    """The inputs that are `x`, or parts of it: those without a default."""
    given = (p for p in _parameters(entry) if p.kind is p.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in given if p.default is p.empty)


def keyword(entry: Callable[..., Any]) -> tuple[str, ...]:
    """The others: they have a default, or stand after a `*`."""
    own = positional(entry)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    given = (p for p in _parameters(entry) if p.kind in kinds)
    return tuple(p.name for p in given if p.name not in own)


def arranged(
    entry: Callable[..., Any], x: tuple[Any, ...], inputs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The inputs of a call, those with a default by their names."""
    names = positional(entry)
    count = len(names)
    named = {**dict(zip(keyword(entry), x[count:], strict=False)), **inputs}
    first = (*x[:count], *(named.pop(n) for n in names[len(x) :] if n in named))
    return packed(first), named


def packed(x: tuple[Any, ...]) -> Any:
    """The one input of a layer: several are a tuple."""
    return x[0] if len(x) == 1 else x


def _parameters(entry: Callable[..., Any]) -> list[inspect.Parameter]:
    """Those of a method, without `self`."""
    return list(inspect.signature(entry).parameters.values())[1:]
