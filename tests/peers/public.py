"""The public names of other libraries, as they are installed."""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
import tomllib
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax

import mlax
import mlax.graph

ROWS = Path(__file__).with_name("rows.toml")
_NO_NAMES = {"annotations"}


@dataclass(frozen=True)
class Row:
    """A public name of a peer, and what stands for it."""

    name: str
    ours: tuple[str, ...] = ()
    """Places in mlax, or in jax where they begin with it."""
    reason: str = ""
    """Why there is none."""


@dataclass(frozen=True)
class Peer:
    """A library, with what `rows.toml` says of it.

    Args:
        module: what is imported.
        search: where counterparts of the same name are.
        submodules: those whose names are public, too.
        ours: counterparts of names.
        absent: why there is none, by a name or a pattern of names.
    """

    module: str
    search: tuple[str, ...]
    submodules: tuple[str, ...]
    ours: dict[str, str]
    absent: dict[str, str]

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported."""
        return importlib.util.find_spec(self.module.partition(".")[0]) is not None

    def names(self) -> list[str]:
        """Its public names; what is in two modules is named by the first."""
        seen: set[Any] = set()
        found: list[str] = []
        for place in ("", *self.submodules):
            module = importlib.import_module(f"{self.module}.{place}".strip("."))
            for name, value in _public(module):
                own = id(value) if callable(value) else name
                if own not in seen:
                    seen.add(own)
                    found.append(f"{place}.{name}".strip("."))
        return found

    def row(self, name: str) -> Row | None:
        """What stands for a name; None: nothing does, and nothing says why."""
        if name in self.ours:
            return Row(name, tuple(self.ours[name].split(", ")))
        last = name.rpartition(".")[2]
        for section in self.search:
            if place_of(f"{section}.{last}") is not None:
                return Row(name, (f"{section}.{last}",))
        for pattern, reason in self.absent.items():
            if fnmatch.fnmatchcase(name, pattern):
                return Row(name, reason=reason)
        return None


def place_of(place: str) -> Any:
    """What is at a place, or None."""
    head, _, rest = place.partition(".")
    value: Any = jax if head == "jax" else mlax
    for name in (rest if head == "jax" else place).split("."):
        value = getattr(value, name, None)
    return value


@cache
def peers() -> tuple[Peer, ...]:
    """All libraries that are compared."""
    tables = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    return tuple(
        Peer(
            module,
            tuple(table["search"]),
            tuple(table.get("submodules", ())),
            table.get("ours", {}),
            {
                name: reason
                for reason, names in table.get("absent", {}).items()
                for name in names
            },
        )
        for module, table in tables.items()
    )


def _public(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or dir(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Names that go are public still.
        for name in sorted({*names} - _NO_NAMES):
            value = getattr(module, name, None)
            if not name.startswith("_") and not isinstance(value, types.ModuleType):
                yield name, value
