"""What changes in the text of files, each change told once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

NAMED = "NAME"
"""Stands in the place of a definition's name, so that what differs by it alone is one change."""


@dataclass(frozen=True)
class Hunk:
    """Lines of one file that others come in the place of."""

    path: str
    line: int
    """Where they begin in the file as it was, from 1."""
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """One change, in all places that it is made in."""

    hunks: tuple[Hunk, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is made in."""
        return tuple(dict.fromkeys(hunk.path for hunk in self.hunks))

    @property
    def lines(self) -> int:
        """How many lines it is, in each place."""
        first = self.hunks[0]
        return max(len(first.removed), len(first.added))


def groups(
    before: Mapping[str, str],
    after: Mapping[str, str],
    names: Mapping[str, Iterable[str]],
) -> list[Group]:
    """The changes of files that are on both sides, those in most files first.

    Args:
        before: texts by path.
        after: the same.
        names: by path the names of the definition that a file follows from.
    """
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Hunk]] = {}
    for path in sorted(before.keys() & after.keys()):
        if before[path] != after[path]:
            named = sorted(names.get(path, ()), key=len, reverse=True)
            for hunk in _hunks(path, before[path], after[path]):
                key = _plain(hunk.removed, named), _plain(hunk.added, named)
                found.setdefault(key, []).append(hunk)
    made = [Group(tuple(hunks)) for hunks in found.values()]
    return sorted(made, key=lambda g: (-len(g.files), g.hunks[0].path, g.hunks[0].line))


def _hunks(path: str, before: str, after: str) -> Iterator[Hunk]:
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind != "equal":
            removed, added = tuple(old[start:end]), tuple(new[first:last])
            yield Hunk(path, start + 1, removed, added)


def _plain(lines: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    for name in names:
        pattern = re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![a-z0-9])")
        lines = [pattern.sub(NAMED, line) for line in lines]
    return tuple(lines)
