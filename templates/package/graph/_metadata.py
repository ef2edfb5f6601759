"""What is known about a parameter beside its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Metadata(Mapping[str, Any]):
    """Hashable values by name. It is immutable, and static: compiled functions depend on it.

    Raises:
        TypeError: where a name is not a string, or a value is not hashable.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        given = {} if values is None else values
        if not isinstance(given, Mapping):
            raise TypeError(
                f"metadata must be a mapping of names to values, got {given!r}"
            )
        for name, value in given.items():
            if not isinstance(name, str):
                raise TypeError(f"metadata: a name must be a string, got {name!r}")
            try:
                hash(value)
            except TypeError:
                raise TypeError(
                    f"metadata: {name} must be hashable, got {value!r}; "
                    "make a tuple of a list"
                ) from None
        self._values = dict(sorted(given.items()))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"Metadata({self._values!r})"
