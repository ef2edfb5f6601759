"""What a `new-...` command was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from mlax_scaffold.model.definition import Kind


@dataclass(frozen=True)
class Request:
    """What a `new-...` command was asked for."""

    command: str
    kind: Kind
    name: str
    archetype: str | None = None
    like: str | None = None
    source: str | None = None
    """Code that it is converted from, as `path.py:Thing`."""
    test: bool = True
