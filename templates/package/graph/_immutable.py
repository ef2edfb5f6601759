"""Refusals of what would change a container in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._graph import Path


class Immutable:
    """What `Params` answers where somebody sets or deletes something of them."""

    __slots__ = ()

    if not TYPE_CHECKING:  # For a type checker there are no such methods.

        def __setitem__(self, path: Path, value: Any) -> None:
            raise TypeError(
                f"Params is immutable: params = params.set({path!r}, value) returns another one"
            )

        def __delitem__(self, path: Path) -> None:
            raise TypeError(
                f"Params is immutable: params = params.remove([{path!r}]) returns another one"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"Params is immutable: {name} cannot be set; set(...), update(...) and "
            "add(...) return another one"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Params is immutable: {name} cannot be deleted")
