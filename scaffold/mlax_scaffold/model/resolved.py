"""The text of a spec with what it inherits, in which containers are resolved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mlax_scaffold.errors import Edit

Change = tuple[tuple[int, int], tuple[int, int], str]
"""Where a text begins and ends, in lines and bytes of them, and what stands there instead."""


@dataclass(frozen=True)
class Resolved:
    """A text, some lines of which are changed, and others inherited."""

    text: str
    changes: tuple[tuple[int, int, int, int], ...]
    """The line of each change, where it begins there (characters, from 0), and how many
    characters stand in the place of how many."""

    numbers: tuple[int, ...] = ()
    """What the number of each line was, 0 where it is inherited; none: each as it is.

    Below 0 it is that of a line which says something else there.
    """

    def before(self, line: int, column: int) -> tuple[int, int]:
        """The line of a place before, and where in it that was; columns count from 1.

        Of what is inherited it is the line before it: that of the class, or of a method.
        """
        number = self.number(line)
        if number <= 0:
            above = (self.number(n) for n in range(line, 0, -1))
            return abs(next(filter(None, above), 1)), 1
        shift = 0
        for at, start, new, old in self.changes:
            if at != line or start >= column - 1:
                continue
            if column - 1 < start + new:
                return number, start - shift + 1
            shift += new - old
        return number, column - shift

    def number(self, line: int) -> int:
        """What the number of a line was; 0 where it is inherited, below 0 where it was another."""
        if not self.numbers:
            return line
        return self.numbers[line - 1] if line <= len(self.numbers) else 0

    def edits(
        self, edits: Iterable[Edit], written: Sequence[str] = ()
    ) -> list[Edit] | None:
        """The same edits of the text as it was; None where they would write what was changed.

        Args:
            edits: edits of the text as it is.
            written: the lines of the text as it was.
        """
        found = []
        for e in edits:
            if kept := self._kept(e, written):
                found.append(kept)
                continue
            lines = range(e.line, e.end_line + 1)
            numbers = [self.number(line) for line in lines]
            if min(numbers) <= 0 or numbers != [*range(numbers[0], numbers[-1] + 1)]:
                return None
            for at, start, new, _ in self.changes:
                after_start = at > e.line or start + new > e.column - 1
                before_end = at < e.end_line or start < e.end_column - 1
                if at in lines and after_start and before_end:
                    return None
            start = self.before(e.line, e.column)
            end = self.before(e.end_line, e.end_column)
            found.append(Edit(*start, *end, e.text))
        return found

    def _kept(self, edit: Edit, written: Sequence[str]) -> Edit | None:
        """An edit of what a line that says something else has kept, at its beginning or its end."""
        at = -self.number(edit.line)
        if at <= 0 or at > len(written) or edit.line != edit.end_line:
            return None
        new, old = self.text.split("\n")[edit.line - 1], written[at - 1]
        start, end = _alike(new, old), _alike(new[::-1], old[::-1])
        if edit.end_column - 1 <= start:
            return Edit(at, edit.column, at, edit.end_column, edit.text)
        shift = len(old) - len(new)
        if edit.column - 1 >= len(new) - end:
            columns = edit.column + shift, edit.end_column + shift
            return Edit(at, columns[0], at, columns[1], edit.text)
        return None


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def resolved(
    text: str, changes: Iterable[Change], numbers: tuple[int, ...] = ()
) -> Resolved:
    """The text with changes in it."""
    lines = text.split("\n")
    made: list[tuple[int, int, int, int]] = []
    for (line, start), (end_line, end), new in sorted(set(changes), reverse=True):
        first, last = lines[line - 1].encode(), lines[end_line - 1].encode()
        head, tail = first[:start].decode(), last[end:].decode()
        # The lines between become blank, so that each other one stays in its place.
        bare = new.rstrip("\n")
        old = len(last[:end].decode()) - len(head) if line == end_line else len(bare)
        made.append((line, len(head), len(bare), old))
        if line == end_line:
            lines[line - 1] = head + bare + tail
        else:
            lines[line - 1 : end_line] = [head + bare + tail, *[""] * (end_line - line)]
    # Later changes of a line shift nothing before them, and earlier ones all after them.
    final = []
    for line in sorted({m[0] for m in made}):
        shift = 0
        for _, start, new, old in sorted(m for m in made if m[0] == line):
            final.append((line, start + shift, new, old))
            shift += new - old
    return Resolved("\n".join(lines), tuple(final), numbers)
