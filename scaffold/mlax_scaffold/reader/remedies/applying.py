"""Makes the edits of fixes in a text, with the imports that they need."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.reader.remedies.importing import parsed, with_imports, without_unused


def applied(text: str, fixes: Iterable[Fix]) -> tuple[str, int]:
    """The text with the edits of as many fixes as do not touch each other, and their number.

    What a fix needs is imported, and what only its edits had used no longer is. Where the
    result would be no Python, no fix is made.
    """
    chosen: list[Edit] = []
    imports = []
    made = 0
    alone: list[tuple[int, int]] = []
    for fix in fixes:
        edits = [e for e in fix.edits if e not in chosen]
        if any(_touch(edit, other) for edit in edits for other in chosen):
            continue
        if any(a <= edit.line <= b for edit in edits for a, b in alone):
            continue
        first, last = fix.alone
        if any(first <= edit.line <= last for edit in chosen):
            continue
        alone.append(fix.alone)
        chosen += edits
        imports += fix.imports
        made += 1
    changed = edited(text, chosen)
    try:
        changed = with_imports(changed, imports)
        changed = without_unused(changed, text)
        parsed(changed)
    except (SyntaxError, RecursionError):
        return text, 0
    return changed, made


def shown(text: str, fix: Fix) -> tuple[str, ...]:
    """What a fix changes, in lines for people; nothing where it cannot be made."""
    if applied(text, [fix])[0] == text:
        return ()
    lines = [f"import: {n}" for n in fix.imports if with_imports(text, [n]) != text]
    return (*lines, *shown_lines(text, edited(text, fix.edits)))


def shown_lines(text: str, changed: str) -> tuple[str, ...]:
    """How a text differs from another one, in lines for people."""
    before, after = text.split("\n"), changed.split("\n")
    lines: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, i, j, k, n in matcher.get_opcodes():
        new = [line for line in after[k:n] if line.strip()]
        gone = [line for line in before[i:j] if line.strip()]
        if tag == "equal":
            continue
        if new:
            lines += _labelled("write:", new)
        elif gone:
            lines += _labelled("remove:", gone)
    return tuple(lines)


def _labelled(label: str, lines: Sequence[str]) -> list[str]:
    """The lines under each other after a word, without the indentation that all have."""
    least = min(len(line) - len(line.lstrip()) for line in lines)
    width = len("remove:")
    return [
        f"{label if i == 0 else '':{width}} {line[least:].rstrip()}"
        for i, line in enumerate(lines)
    ]


def _touch(a: Edit, b: Edit) -> bool:
    """Whether two edits change the same place."""
    start_a, end_a = (a.line, a.column), (a.end_line, a.end_column)
    start_b, end_b = (b.line, b.column), (b.end_line, b.end_column)
    if start_a == start_b:
        return True
    return start_a < end_b and start_b < end_a


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with all of the edits, of which none touches another."""
    lines = text.split("\n")
    for edit in sorted(edits, reverse=True):
        first, last = lines[edit.line - 1], lines[edit.end_line - 1]
        changed = first[: edit.column - 1] + edit.text + last[edit.end_column - 1 :]
        lines[edit.line - 1 : edit.end_line] = changed.split("\n")
    return "\n".join(lines)
