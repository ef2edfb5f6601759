"""What a file imports from files of the same code, in front of it: classes, functions and constants.

`from .parts import Block` and `from layers.parts import Block` are read where there is such a file: beside
this one, or below a folder that this one is in. Only what the class or the function reaches comes along.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mlax_scaffold.conversion.source.walking import walk
from mlax_scaffold.reader.remedies.foreign import LIBRARIES

_DEPTH = 6
"""How many folders above a file its imports are looked for."""
_INSTALLED = ("site-packages", "dist-packages")
_OTHERS = (*LIBRARIES, "jax", "timm", "torchvision")
"""What is read by its own name."""


@dataclass(frozen=True)
class Joined:
    """A file with what it needs of others in front of it."""

    text: str
    places: tuple[tuple[str, int], ...] = ()
    """The file and the line that each line comes from; empty where it is the file alone."""

    def place(self, line: int) -> tuple[str, int]:
        """The file, "" for the one that was given, and the line there."""
        if not self.places or not 0 < line <= len(self.places):
            return "", line
        return self.places[line - 1]


def with_other_files(path: str, text: str, thing: str) -> Joined:
    """The text of a file in which nothing of the same code is imported any more, as far as that is found.

    Args:
        path: the file.
        text: what is in it.
        thing: the name of the class or the function there.
    """
    try:
        main = _File(Path(path).resolve(), text)
        reach = _Reach(main)
        reach.follow(main, thing)
    except (SyntaxError, ValueError, RecursionError, OSError, UnicodeDecodeError):
        return Joined(text)
    if not reach.found or reach.doubtful:
        return Joined(text)
    return reach.joined(path)


@dataclass(frozen=True)
class _Import:
    """One name of an import."""

    node: ast.Import | ast.ImportFrom
    alias: ast.alias
    file: _File | None
    """The file of the same code that it is from."""

    @property
    def title(self) -> str:
        return self.alias.asname or self.alias.name

    @property
    def meaning(self) -> str:
        if isinstance(self.node, ast.Import):
            return self.alias.name
        return f"{'.' * self.node.level}{self.node.module}.{self.alias.name}"


@dataclass(frozen=True)
class _File:
    """A file of Python."""

    path: Path
    text: str
    known: dict[Path, _File] = field(default_factory=dict)
    """Files that were read."""

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def defined(self) -> dict[str, list[ast.stmt]]:
        """The statements that define each name."""
        found: dict[str, list[ast.stmt]] = {}
        for node in self.tree.body:
            for title in _bound(node):
                found.setdefault(title, []).append(node)
        return found

    @cached_property
    def imported(self) -> list[_Import]:
        """The imports of the file, those in functions and conditions as well."""
        return [
            _Import(node, alias, self._file(node))
            for node in walk(self.tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        ]

    def _file(self, node: ast.Import | ast.ImportFrom) -> _File | None:
        if not isinstance(node, ast.ImportFrom):
            return None
        parts = (node.module or "").split(".") if node.module else []
        if node.level:
            parents = [self.path.parents[node.level - 1]]
        elif not parts or parts[0] in _OTHERS:
            return None
        else:
            parents = [*self.path.parents][:_DEPTH]
        for parent in parents:
            own = parts and parent / parts[0] in self.path.parents
            if parent.name in _INSTALLED and not own:
                return None
            base = parent.joinpath(*parts)
            for place in (base.with_suffix(".py"), base / "__init__.py"):
                if parts and place.is_file() and place != self.path:
                    return self._read(place)
        return None

    def _read(self, place: Path) -> _File:
        if place not in self.known:
            text = place.read_text(encoding="utf-8-sig")
            self.known[place] = _File(place, text, self.known)
        return self.known[place]

    def resolved(self, title: str, depth: int = 4) -> tuple[_File, str] | None:
        """The file that defines a name, and what it is called there."""
        if title in self.defined:
            return self, title
        for one in self.imported if depth else ():
            if one.file is None:
                continue
            if one.alias.name == "*" or one.title == title:
                wanted = title if one.alias.name == "*" else one.alias.name
                found = one.file.resolved(wanted, depth - 1)
                if found is not None:
                    return found
        return None


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.ClassDef(name=title) | ast.FunctionDef(name=title):
            yield title
        case ast.Assign(targets=targets):
            for target in targets:
                yield from (n.id for n in walk(target) if isinstance(n, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=title)):
            yield title


class _Reach:
    """What is reached from a name."""

    def __init__(self, main: _File):
        self.main = main
        self.found: dict[tuple[Path, str], str] = {}
        """What of other files is reached, and what it is called here; those that others need come first."""
        self.files: dict[Path, _File] = {}
        self.imports: dict[str, _Import] = {
            one.title: one for one in main.imported if one.file is None
        }
        self.more: list[_Import] = []
        """Imports that come along."""
        self.doubtful = False
        self.seen: set[tuple[Path, str]] = set()

    def follow(self, file: _File, title: str, here: str = "") -> None:
        """Take what a name of a file leads to."""
        key = file.path, title
        if key in self.seen:
            self.doubtful |= self.found.get(key, here) != here
            return
        self.seen.add(key)
        own = file is self.main
        if not own:
            taken = {*self.main.defined, *self.imports, *self.found.values()}
            self.doubtful |= here in taken or here != title
        for node in file.defined.get(title, ()):
            for part in walk(node):
                if isinstance(part, ast.Name):
                    self._name(file, part.id)
        if not own:
            self.files[file.path] = file
            self.found[key] = here

    def _name(self, file: _File, title: str) -> None:
        found = file.resolved(title)
        if found is not None:
            # What is of this file keeps its name, and so does what comes with it.
            self.follow(*found, here=title)
            return
        if file is self.main:
            return
        for one in file.imported:
            if one.title == title and one.file is None:
                before = self.imports.setdefault(title, one)
                self.doubtful |= before.meaning != one.meaning and not _same(
                    before, one
                )
                if before is one:
                    self.more.append(one)

    def joined(self, path: str) -> Joined:
        """The text of all."""
        lines: list[str] = []
        places: list[tuple[str, int]] = []
        for one in self.more:
            lines.append(_statement(one.node, [one.alias]))
            places.append((path, 1))
        written: set[int] = set()
        folder = Path(path).parent
        for key in self.found:
            file = self.files[key[0]]
            source = file.text.splitlines()
            for node in file.defined[key[1]]:
                if id(node) in written:
                    continue
                written.add(id(node))
                first = min([node.lineno, *_decorators(node)])
                last = node.end_lineno or first
                title = _shown(file.path, folder)
                for number in range(first, last + 1):
                    lines.append(source[number - 1])
                    places.append((title, number))
                lines.append("")
                places.append((title, last))
        for number, line in enumerate(self._own(), 1):
            lines.append(line)
            places.append(("", number))
        return Joined("\n".join(lines) + "\n", tuple(places))

    def _own(self) -> list[str]:
        """The lines of the file, without the imports that came along."""
        lines = self.main.text.splitlines()
        here = {*self.found.values()}
        for node in {id(i.node): i.node for i in self.main.imported if i.file}.values():
            kept = [
                a for a in node.names if a.name != "*" and (a.asname or a.name) not in here
            ]  # fmt: skip
            first, last = node.lineno, node.end_lineno or node.lineno
            start = re.match(r"\s*", lines[first - 1])
            text = "pass"
            if kept:
                text = _statement(node, kept)
            lines[first - 1] = (start[0] if start else "") + text
            for number in range(first, last):
                lines[number] = ""
        return [
            "pass" if line.startswith("from __future__") else line for line in lines
        ]


def _statement(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """An import of these names alone."""
    if isinstance(node, ast.Import):
        return ast.unparse(ast.Import(names))
    return ast.unparse(ast.ImportFrom(node.module, names, node.level))


def _same(left: _Import, right: _Import) -> bool:
    """Whether two imports are of one module, in two ways of writing: `import torch.nn as nn`."""
    return left.meaning.lstrip(".") == right.meaning.lstrip(".")


def _decorators(node: ast.stmt) -> list[int]:
    return [d.lineno for d in getattr(node, "decorator_list", [])]


def _shown(path: Path, folder: Path) -> str:
    """A file as messages call it, from where the first one is."""
    return os.path.normpath(folder / os.path.relpath(path, folder.resolve()))
