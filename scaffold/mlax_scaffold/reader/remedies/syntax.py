"""What a text that is no Python was meant to be, where one slip makes it so."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from mlax_scaffold.errors import Edit
from mlax_scaffold.spelling import closest

_STATEMENTS = ("class", "def", "elif", "else", "for", "from", "if", "import", "return")
_STATEMENTS += ("while", "with")


def misread(
    lines: Sequence[str], line: int, column: int, message: str
) -> tuple[str, Edit | None]:
    """A hint, and the edit that makes it Python.

    Args:
        lines: the text.
        line: where the error is, and `column`.
        column: counts from 1.
        message: Python's.
    """
    text = lines[line - 1] if line <= len(lines) else ""
    if message == "expected ':'" and column <= len(text.rstrip()) + 1:
        return "", Edit(line, column, line, column, ":")
    first = re.match(r"\s*([A-Za-z]+)\b(?!\s*[=.(\[,:])", text)
    if message == "invalid syntax" and first and not keyword.iskeyword(first[1]):
        meant = closest(first[1], _STATEMENTS, 0.7)
        if meant:
            start, end = first.start(1) + 1, first.end(1) + 1
            return f'did you mean "{meant}"?', Edit(line, start, line, end, meant)
    if "was never closed" in message:
        return "Close it on the line where its expression ends.", None
    if message in (
        "unexpected indent",
        "unindent does not match any outer indentation level",
    ):
        return "The statements of one block begin in one column.", None
    return "", None
