"""Modules that a module is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._module import Module


def checked_module(owner: Module, name: str, given: Any) -> Module:
    """A module.

    Raises:
        TypeError: where it is something else.
    """
    if not isinstance(given, Module):
        raise TypeError(
            f"{type(owner).__name__}: {name} must be a module of a graph, got {given!r}"
        )
    return given


def checked_modules(owner: Module, name: str, given: Any) -> tuple[Module, ...]:
    """A tuple of modules.

    Raises:
        TypeError: where it is something else.
    """
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise TypeError(
            f"{type(owner).__name__}: {name} must be a sequence of modules, got {given!r}"
        )
    return tuple(
        checked_module(owner, f"{name}[{i}]", part) for i, part in enumerate(given)
    )
