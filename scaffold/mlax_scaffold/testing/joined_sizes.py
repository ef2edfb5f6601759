"""Sizes that originals are given: lists where their code joins them with lists."""

from __future__ import annotations

import inspect
import re
from typing import Any


def as_by_default(thing: Any, parameter: str, value: Any, joined: bool) -> Any:
    """A tuple as a list where the parameter is one by default or by its type, as code that joins it needs.

    Where nothing tells of it, lists may be joined with it as well as tuples, but not in layers of jax:
    tuples are trees there.
    """
    if not isinstance(thing, type) or not isinstance(value, tuple):
        return value
    known = inspect.signature(thing).parameters.get(parameter)
    if known is None:
        return value
    if isinstance(known.default, list) or _LISTED.match(str(known.annotation)):
        return [*value]
    told = known.default is not known.empty or known.annotation is not known.empty
    return _Sizes(value) if joined and not told else value


_LISTED = re.compile(r"(<class ')?(typing\.)?[Ll]ist\b")


class _Sizes(tuple):
    """Sizes that may be joined with lists, too: `[size] + sizes`."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return [*self, *other] if isinstance(other, list) else tuple(self) + other

    def __radd__(self, other: Any) -> Any:
        return [*other, *self]
