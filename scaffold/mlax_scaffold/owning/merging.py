"""Merges three versions of a module, function by function and class by class.

What only one side changed is taken from it, wherever it stands. Text that both changed is merged
line by line, by git.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from mlax_scaffold.errors import UsageError
from mlax_scaffold.project.units import IMPORTS, Unit, cut, cut_class, joined
from mlax_scaffold.render.scratch import fill, scratch

MARKERS = ("<<<<<<<", ">>>>>>>")


class Side(Enum):
    """Whose text to take where both sides changed the same lines."""

    NEITHER = ""
    OURS = "--ours"
    THEIRS = "--theirs"


@dataclass(frozen=True)
class Merged:
    """What came of a merge."""

    text: str
    """With markers where the sides contradict each other."""
    conflicts: tuple[str, ...] = ()
    """What they contradict each other about: names of functions and classes."""


@dataclass(frozen=True)
class Versions:
    """Three versions of one text; None where there is none."""

    base: str | None
    mine: str | None
    theirs: str | None


def merge(versions: Versions, side: Side, label: str) -> Merged:
    """Merge the versions of a module, all of which exist but perhaps the base.

    Args:
        versions: the texts.
        side: whose lines to take where both changed them.
        label: what to call their version in markers.
    """
    base, mine, theirs = (v or "" for v in _values(versions))
    simple = _one_sided(Versions(base, mine, theirs))
    if simple is not None:
        return Merged(simple)
    merger = _Merger(side, label)
    try:
        units = [cut(text) for text in (base, mine, theirs)]
    except SyntaxError:
        text = merger.lines("the file", Versions(base, mine, theirs))
    else:
        text = merger.units(units[0], units[1], units[2], merger.unit)
    return Merged(text, tuple(merger.conflicts))


def _values(versions: Versions) -> tuple[str | None, str | None, str | None]:
    return versions.base, versions.mine, versions.theirs


def _one_sided(versions: Versions) -> str | None:
    """The text where at most one side changed it; None where both did."""
    if versions.mine in (versions.theirs, versions.base):
        return versions.theirs
    return versions.mine if versions.theirs == versions.base else None


class _Merger:
    def __init__(self, side: Side, label: str) -> None:
        self.side, self.label = side, label
        self.conflicts: list[str] = []

    def units(
        self,
        base: Mapping[str, Unit],
        mine: Mapping[str, Unit],
        theirs: Mapping[str, Unit],
        both: Callable[[str, Unit | None, Unit | None, Unit | None], Unit | None],
    ) -> str:
        """The units in their order; those of my own after what they follow with me."""
        found: dict[str, Unit] = {}
        for name in {**theirs, **mine}:
            made = both(name, base.get(name), mine.get(name), theirs.get(name))
            if made is not None:
                found[name] = made
        order = [name for name in theirs if name in found]
        before = None
        for name in mine:
            if name in found and name not in order:
                order.insert(order.index(before) + 1 if before in order else 0, name)
            before = name if name in order else before
        return joined([found[name] for name in order])

    def unit(
        self, name: str, base: Unit | None, mine: Unit | None, theirs: Unit | None
    ) -> Unit | None:
        """One unit; None where it is gone."""
        texts = [unit.text if unit else None for unit in (base, mine, theirs)]
        versions = Versions(*texts)
        if base != mine and base != theirs and mine != theirs:
            if base and mine and theirs and base.is_class and mine.is_class:
                return replace(mine, text=self._class(name, base, mine, theirs))
            if name == IMPORTS and mine and theirs:
                return Unit(name, _imports(versions))
            return Unit(name, self.lines(name, versions))
        return theirs if mine in (theirs, base) else mine

    def lines(self, name: str, versions: Versions) -> str:
        """Text that both sides changed; notes whether they contradict each other."""
        text, clean = merge_lines(versions, self.side, self.label)
        if not clean:
            self.conflicts.append(name)
        return text

    def _class(self, name: str, base: Unit, mine: Unit, theirs: Unit) -> str:
        def part(
            inner: str, one: Unit | None, two: Unit | None, three: Unit | None
        ) -> Unit | None:
            before = len(self.conflicts)
            made = self.unit(inner, one, two, three)
            self.conflicts[before:] = [f"{name}.{c}" for c in self.conflicts[before:]]
            return made

        return self.units(cut_class(base), cut_class(mine), cut_class(theirs), part)


def merge_lines(versions: Versions, side: Side, label: str) -> tuple[str, bool]:
    """Text merged line by line, and whether no line was changed by both sides.

    Raises:
        UsageError: there is no git.
    """
    names = ("mine", "base", "theirs")
    texts = (versions.mine, versions.base, versions.theirs)
    options = [side.value] if side.value else []
    labels = ("yours", "before", label)
    with scratch() as folder:
        fill(folder, {n: text or "" for n, text in zip(names, texts, strict=True)})
        try:
            done = subprocess.run(
                [
                    *("git", "merge-file", "-p", *options),
                    *(word for text in labels for word in ("-L", text)),
                    *names,
                ],
                cwd=folder,
                capture_output=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise UsageError(
                "both sides changed the same function, and merging that needs git, "
                "which is not there: install it, or pass --ours or --theirs"
            ) from error
    if done.returncode < 0 or done.returncode > 127:
        raise UsageError(f"git merge-file failed: {done.stderr.decode().strip()}")
    return done.stdout.decode(), done.returncode == 0


def _imports(versions: Versions) -> str:
    """Imports as sets: what either side added, less what either side took away."""
    base, mine, theirs = (_import_lines(v or "") for v in _values(versions))
    kept = [line for line in theirs if line in mine or line not in base]
    kept += [line for line in mine if line not in base and line not in kept]
    text = versions.theirs or ""
    above = text.splitlines(keepends=True)[: ast.parse(text).body[0].lineno - 1]
    return "".join([*above, *(f"{line}\n" for line in kept)])


def _import_lines(text: str) -> list[str]:
    """A statement for each name that is imported."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                found.append(ast.unparse(_single(node, alias)))
    return found


def _single(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(node, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(node.module, [alias], node.level)
