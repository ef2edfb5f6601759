"""What is said of code that is not carried over as it is: where, what, and what to do."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from mlax_scaffold.errors import FindingsError


@dataclass(frozen=True, order=True)
class Note:
    """One place of the code that was given."""

    line: int
    what: str
    todo: str
    blocks: bool = True
    """Whether the spec would not be the same without it."""
    file: str = ""
    """Another file of the same code, where it is of that."""

    def at(self, path: str) -> str:
        """The note as a line for people and editors."""
        return f"{self.file or path}:{self.line}: {self.what}: {self.todo}"


@dataclass
class Notes:
    """Collects notes."""

    found: list[Note] = field(default_factory=list)

    def refuse(self, node: ast.AST | int, what: str, todo: str) -> None:
        """Something that has no counterpart, which has to be written by hand."""
        self._add(node, what, todo, True)

    def remark(self, node: ast.AST | int, what: str, todo: str) -> None:
        """Something that is different, without a difference for what is computed."""
        self._add(node, what, todo, False)

    @property
    def blocking(self) -> bool:
        """Whether something has to be written by hand."""
        return any(note.blocks for note in self.found)

    def _add(self, node: ast.AST | int, what: str, todo: str, blocks: bool) -> None:
        line = node if isinstance(node, int) else getattr(node, "lineno", 0)
        note = Note(line, what, todo, blocks)
        if note not in self.found:
            self.found.append(note)


class ConversionError(FindingsError):
    """Code cannot become a spec: every place that has no counterpart, with its line."""

    def __init__(self, path: str, thing: str, notes: Iterable[Note]):
        self.path, self.thing = path, thing
        self.notes = tuple(sorted(set(notes)))
        lines = "\n".join(f"  {note.at(path)}" for note in self.notes)
        super().__init__(
            f"{thing} of {path} cannot become a spec as it is:\n{lines}\n"
            "Nothing was changed. `--dry-run` prints what could be carried over."
        )
