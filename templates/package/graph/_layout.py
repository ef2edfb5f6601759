"""What is static about parameters: paths, flags and metadata, in their order."""

from __future__ import annotations

import difflib
from functools import cached_property
from typing import Any, NamedTuple

import jax

from ._graph import Path, shown_path
from ._metadata import Metadata


class Entry(NamedTuple):
    """What is static about one parameter."""

    path: Path
    trainable: bool
    metadata: Metadata
    order: int
    """When it was made: parts that are merged come back in this order."""


class LockedError(RuntimeError, KeyError):
    """A parameter is missing from locked `Params`, which take no new ones."""

    def __str__(self) -> str:
        return RuntimeError.__str__(self)


class Layout:
    """Everything about `Params` but the values: the static part of the pytree.

    Changing values keeps the layout, so that comparing the layouts of two calls of a
    compiled function mostly is comparing an object with itself.

    Args:
        entries: one for each parameter.
        locked: whether no other can be added.
        changing: the paths whose values may change; None: all.
    """

    def __init__(
        self,
        entries: tuple[Entry, ...],
        locked: bool,
        changing: frozenset[Path] | None = None,
    ) -> None:
        self.entries = entries
        self.locked = locked
        self.changing = changing
        self._below: dict[object, tuple[Layout, tuple[int, ...]]] = {}

    @cached_property
    def index(self) -> dict[Path, int]:
        """The place of each path."""
        return {entry.path: i for i, entry in enumerate(self.entries)}

    @cached_property
    def keys(self) -> tuple[Any, ...]:
        """What `jax.tree_util` calls each parameter."""
        return tuple(jax.tree_util.DictKey(entry.path) for entry in self.entries)

    @cached_property
    def halves(self) -> tuple[tuple[Layout, tuple[int, ...]], ...]:
        """The layouts and places of those that are trainable, and of the others."""
        parts = []
        for wanted in (True, False):
            indices = tuple(
                i for i, entry in enumerate(self.entries) if entry.trainable is wanted
            )
            parts.append((self.select(indices), indices))
        return tuple(parts)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        # Not the order: it decides how parts are merged, and nothing about these values.
        return (self.locked, self.changing, *(entry[:3] for entry in self.entries))

    @cached_property
    def _hash(self) -> int:
        return hash(self._identity)

    def marked_unlike(self, other: Layout) -> list[Path]:
        """The paths whose flags or metadata differ in another layout of the same paths."""
        if self is other:
            return []
        theirs, index = other.entries, other.index
        return [
            entry.path
            for entry in self.entries
            if entry[:3] != theirs[index[entry.path]][:3]
        ]

    def lock(self, locked: bool) -> Layout:
        """The same, locked or not."""
        return Layout(self.entries, locked, self.changing)

    def only(self, changing: frozenset[Path] | None) -> Layout:
        """The same, of which only these paths change."""
        return Layout(self.entries, self.locked, changing)

    def add(self, path: Path, trainable: bool, metadata: Metadata) -> Layout:
        """The same and another entry at the end."""
        order = 1 + max((entry.order for entry in self.entries), default=-1)
        entry = Entry(path, trainable, metadata, order)
        return Layout((*self.entries, entry), self.locked, self.changing)

    def mark(self, marked: Entry) -> Layout:
        """The same, with the flag and the metadata of an entry for its path."""
        index = self.index[marked.path]
        if self.entries[index][:3] == marked[:3]:
            return self
        entries = list(self.entries)
        entries[index] = marked._replace(order=entries[index].order)
        return Layout(tuple(entries), self.locked, self.changing)

    def select(self, indices: tuple[int, ...]) -> Layout:
        """Some of the entries."""
        entries = tuple(self.entries[i] for i in indices)
        return Layout(entries, self.locked, self.changing)

    def below(
        self, places: frozenset[Path], without: frozenset[Path]
    ) -> tuple[Layout, tuple[int, ...]]:
        """The layout and places of those below some paths, but for those below others."""
        found = self._below.get((places, without))
        if found is None:
            indices = tuple(
                i
                for i, entry in enumerate(self.entries)
                if not places.isdisjoint(above := _above(entry.path))
                and without.isdisjoint(above)
            )
            found = self._below[places, without] = self.select(indices), indices
        return found

    def merge(self, *others: Layout) -> tuple[Layout, tuple[int, ...]]:
        """All entries in the order in which they were made, and where each comes from.

        Raises:
            ValueError: where two have the same path.
        """
        parts = (self, *others)
        entries = [entry for part in parts for entry in part.entries]
        seen: set[Path] = set()
        for entry in entries:
            if entry.path in seen:
                raise ValueError(
                    f"Params: both have the parameter {shown_path(entry.path)}, so that they cannot be "
                    "merged; `remove` it from one, or `update` one with the other's values"
                )
            seen.add(entry.path)
        order = tuple(sorted(range(len(entries)), key=lambda i: entries[i].order))
        locked = all(part.locked for part in parts)
        return Layout(tuple(entries[i] for i in order), locked, self.changing), order

    def nearest(self, path: Any) -> str:
        """The hint of an error about a path that is not there."""
        if not isinstance(path, tuple):
            return '; a path is a tuple of names, such as ("model", "bias")'
        depth = len(path)
        below = [e.path[depth] for e in self.entries if e.path[:depth] == path]
        if below:
            return f"; it is a node, with {', '.join(map(repr, dict.fromkeys(below)))}"
        known = [shown_path(entry.path) for entry in self.entries]
        close = difflib.get_close_matches(shown_path(path), known, n=1, cutoff=0.75)
        return f"; did you mean {close[0]}?" if close else ""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Layout)
            and self._hash == other._hash
            and self._identity == other._identity
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Layout], tuple[object, ...]]:
        # Hashes of strings differ between processes.
        return Layout, (self.entries, self.locked, self.changing)

    def __repr__(self) -> str:
        shown = ", ".join("/".join(entry.path) for entry in self.entries)
        return f"Layout({'locked' if self.locked else 'unlocked'}: {shown})"


def _above(path: Path) -> list[Path]:
    """The nodes that a parameter is below."""
    return [path[:depth] for depth in range(1, len(path))]
