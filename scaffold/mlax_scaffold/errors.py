"""What can go wrong, as values: a place, a diagnostic, and the exceptions that carry them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Location:
    """A place in a file. Lines and columns count from 1, columns in characters."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, order=True)
class Diagnostic:
    """One finding in a spec: where, what is wrong, and what to write instead."""

    location: Location
    message: str
    hint: str = ""
    source_line: str = ""
    width: int = 1

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
        return "\n".join(lines)


class MlaxScaffoldError(Exception):
    """Something the user can mend; its text says what was given, what was expected, and what to do."""


class SpecError(MlaxScaffoldError):
    """One or several specs are invalid. `diagnostics` holds every finding, in order of place."""

    def __init__(self, diagnostics: Iterable[Diagnostic]):
        self.diagnostics: tuple[Diagnostic, ...] = tuple(sorted(set(diagnostics)))
        super().__init__("\n".join(map(str, self.diagnostics)))


class UsageError(MlaxScaffoldError):
    """The command line or the configuration asks for something that cannot be done."""


class ConflictError(MlaxScaffoldError):
    """Going on would overwrite somebody's work, or collide with another run."""


def did_you_mean(word: str, allowed: Sequence[str], cutoff: float = 0.6) -> str:
    """'did you mean "x"?' for the closest of the allowed words, or an empty string."""
    close = difflib.get_close_matches(word, allowed, n=1, cutoff=cutoff)
    return f'did you mean "{close[0]}"?' if close else ""
