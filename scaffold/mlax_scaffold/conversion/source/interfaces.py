"""How a class of a file is called from another one that is built on it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class InnerLayer:
    """A layer of the library that a class is made of."""

    kind: str
    call: ast.Call | None
    """How it is declared, by the fields of the class; None where these do not tell."""
    defaults: Mapping[str, ast.expr | None] = field(default_factory=dict)
    """What the fields are where they are not given."""


@dataclass
class Interface:
    """How a class of the same file is called from another one."""

    name: str
    order: list[str]
    """The fields, in order."""
    renamed: dict[str, str]
    """The names of the fields for them; "" for what was left out."""
    added: list[str]
    """Fields for sizes that the original tells by its inputs."""
    dropped: dict[str, str]
    """Parameters of the call that are left out: flags and keys."""
    inputs: list[str]
    fixed: dict[str, str]
    """Parameters for a class of layers, which is always this one."""
    decays: frozenset[str] = frozenset()
    """Fields for rates below one."""
    method: str = "forward"
    stateful: bool = False
    weight: str | None = None
    """A weight that it has in any case, as it reads it: `self.embed.embedding`."""
    layers: Mapping[str, InnerLayer] = field(default_factory=dict)
    """The layers that it has in any case, by their paths: `encoder.embed`."""
