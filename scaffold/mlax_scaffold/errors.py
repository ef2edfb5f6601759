"""What can go wrong, as values: a place, a diagnostic, and the exceptions that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Location:
    """A place in a file. Lines and columns count from 1, columns in characters."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, order=True)
class Edit:
    """Text for what stands between two places of a file; lines and columns as in `Location`.

    Nothing stands between a place and itself: there the text is inserted.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, order=True)
class Needed:
    """A name that a text must import: `from module import name as bound`.

    Without a name it is `import module as bound`, with `bound` the module or its other name.
    """

    module: str
    name: str
    bound: str

    def __str__(self) -> str:
        other = "" if self.bound in (self.name, self.module) else f" as {self.bound}"
        if self.name:
            return f"from {self.module} import {self.name}{other}"
        return f"import {self.module}{other}"


@dataclass(frozen=True)
class Fix:
    """The one mechanical remedy of a finding."""

    edits: tuple[Edit, ...] = ()
    imports: tuple[Needed, ...] = ()
    shown: tuple[str, ...] = ()
    """What changes, in lines for people."""
    written: bool = False
    """Whether the places of the edits are those of the text as written, not of the one that is read."""
    alone: tuple[int, int] = (0, 0)
    """The first and the last line in which nothing else is edited at once: names change there."""


@dataclass(frozen=True, order=True)
class Diagnostic:
    """One finding in a spec: where, what is wrong, and what to write instead."""

    location: Location
    message: str
    hint: str = ""
    source_line: str = ""
    width: int = 1
    fix: Fix | None = field(default=None, compare=False)
    inherited: bool = field(default=False, compare=False)
    """Whether it is about what a class takes from its base, and stands at the line before that."""

    def __str__(self) -> str:
        lines = [f"{self.location}: {self.message}"]
        if self.source_line:
            indent = "".join(
                "\t" if c == "\t" else " "
                for c in self.source_line[: self.location.column - 1]
            )
            lines += [
                f"    {self.source_line}",
                f"    {indent}{'^' * max(1, self.width)}",
            ]
        if self.hint:
            lines.append(f"    {self.hint}")
        if self.fix:
            lines += [f"    {line}" for line in self.fix.shown]
        return "\n".join(lines)


class MlaxScaffoldError(Exception):
    """Something the user can mend; its text says what was given, what was expected, and what to do."""


class SpecError(MlaxScaffoldError):
    """One or several specs are invalid. `diagnostics` holds every finding, in order of place.

    `mended` holds the texts of specs that are valid once the fixes of their findings are made,
    `written` the paths of other specs whose fixes were made. `left` is what all these fixes leave to mend
    by hand, or bring to light, in specs that are not valid then.
    """

    def __init__(
        self,
        diagnostics: Iterable[Diagnostic],
        mended: Mapping[str, str] | None = None,
        written: Iterable[str] = (),
        left: Iterable[Diagnostic] = (),
    ):
        self.diagnostics: tuple[Diagnostic, ...] = tuple(sorted(set(diagnostics)))
        self.mended: dict[str, str] = dict(mended or {})
        self.written: tuple[str, ...] = tuple(sorted(written))
        self.left: tuple[Diagnostic, ...] = tuple(sorted(set(left)))
        super().__init__("\n".join(map(str, self.diagnostics)))


class UsageError(MlaxScaffoldError):
    """The command line or the configuration asks for something that cannot be done."""


class ConflictError(MlaxScaffoldError):
    """Going on would overwrite somebody's work, or collide with another run."""


class FindingsError(MlaxScaffoldError):
    """What was asked for was looked into, and is not as it should be."""
