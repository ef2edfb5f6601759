"""The files of a project that people wrote."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

_SKIPPED = {"__pycache__", "node_modules", "site-packages", "build", "dist"}
_TEXT = (
    ".py",
    ".md",
    ".rst",
    ".txt",
    ".toml",
    ".cfg",
    ".ini",
    ".yaml",
    ".yml",
    ".ipynb",
)
_LARGEST = 1_000_000


@dataclass(frozen=True)
class Mention:
    """A line of text that has a name in it."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def files(
    root: str, suffixes: tuple[str, ...], skipped: Collection[str]
) -> Iterator[str]:
    """The paths of the files below a root that end so, other than hidden and installed ones.

    Links are not followed.
    """
    for folder, names, found in os.walk(root):
        if folder != root and "pyvenv.cfg" in found:
            names.clear()
            continue
        names[:] = sorted(n for n in names if n[0] != "." and n not in _SKIPPED)
        for name in sorted(found):
            place = os.path.join(folder, name)
            path = os.path.relpath(place, root).replace(os.sep, "/")
            if name.endswith(suffixes) and path not in skipped and _is_plain(place):
                yield path


def texts(
    root: str, skipped: Collection[str], words: Iterable[str]
) -> Iterator[tuple[str, bytes]]:
    """The Python files that people wrote and that have one of the words in them."""
    wanted = _pattern(words)
    for path in files(root, (".py",), skipped):
        with open(os.path.join(root, path), "rb") as file:
            data = file.read()
        if wanted.search(data):
            yield path, data


def mentions(
    root: str, skipped: Collection[str], word: str, changed: Mapping[str, bytes]
) -> list[Mention]:
    """The lines of what people wrote that have a word in them, once files are `changed`."""
    wanted = _pattern([word])
    found = []
    for path in files(root, _TEXT, skipped):
        data = changed.get(path)
        if data is None:
            with open(os.path.join(root, path), "rb") as file:
                data = file.read()
        lines = enumerate(data.split(b"\n"), 1)
        found += [Mention(path, n) for n, line in lines if wanted.search(line)]
    return found


def _pattern(words: Iterable[str]) -> re.Pattern[bytes]:
    each = "|".join(map(re.escape, words))
    return re.compile(rf"\b({each})\b".encode())


def _is_plain(place: str) -> bool:
    return not os.path.islink(place) and os.path.getsize(place) <= _LARGEST
