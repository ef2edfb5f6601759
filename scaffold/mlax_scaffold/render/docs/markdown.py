"""Markdown: text of specs that stays text, whatever is in it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from mlax_scaffold.render.docs.equations import clauses

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_SPECIAL = re.compile(
    r"[\\`\[\]{}<>$~#]|&(?=[#\w])|\)(?==)|(?<![^\W_])_|_(?![^\W_])|\*(?!\s)"
)
_LINE_START = re.compile(r"^([-+=*%:]|\d+(?=[.)]))")
_EXPRESSION = re.compile(r"`[^`]*`|(\w+)(?:\.\w+)*(?:\([\w.]*\)|=\w+(?:\.\w+)*)?")
"""Code, or a name with what follows it, as in `x.astype(jnp.float32)` or `axis=0`."""


@dataclass(frozen=True)
class Table:
    """A table; cells are Markdown without line breaks."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the table."""
        rows = (self.headers, ("---",) * len(self.headers), *self.rows)
        return tuple(f"| {' | '.join(map(cell, row))} |" for row in rows)


def table(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table as one text."""
    return "\n".join(Table(headers, tuple(rows)).lines)


def cell(markdown: str) -> str:
    """Markdown as it stands in a table: a bar would end the cell, also in a code span."""
    return " ".join(markdown.split()).replace("|", r"\|")


def visible(text: str) -> str:
    """The text with characters that cannot be seen written as Python escapes."""
    return "".join(
        c if c.isprintable() or c == "\n" else repr(c)[1:-1]
        for c in text.replace("\t", "    ")
    )


def code(text: str) -> str:
    """A code span, also of a text with backticks in it."""
    text = " ".join(visible(text).split())
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def marked(text: str, names: Collection[str]) -> str:
    """The text with parameters as code: those that no word of English is, and the first word."""

    def mark(match: re.Match[str]) -> str:
        known = match[1] in names and (not match.start() or not match[0].isalpha())
        return f"`{match[0]}`" if known else match[0]

    return _EXPRESSION.sub(mark, text)


def block(text: str, language: str) -> str:
    """A fenced block, whose fence is longer than any run of backticks in the text."""
    fence = "`" * max(3, _longest_run(text) + 1)
    body = text.rstrip("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def prose(text: str) -> str:
    """Plain text as one line of Markdown; what stands in backticks is code."""
    text = " ".join(visible(text).split())
    parts: list[str] = []
    end = 0
    for match in _CODE_SPAN.finditer(text):
        parts += [_escape(text[end : match.start()]), code(match[2])]
        end = match.end()
    line = "".join([*parts, _escape(text[end:])])
    return _LINE_START.sub(_escape_start, line)


def summary(text: str) -> str:
    """One paragraph of plain text as one line, with its equations in the line."""
    parts = []
    for part in clauses(text):
        if part.is_equation:
            parts.append(f"{{math}}`{part.text}`{part.end}")
        else:
            parts.append(prose(part.text))
    return " ".join(parts)


def paragraphs(text: str) -> str:
    """Paragraphs of plain text; equations stand by themselves.

    A paragraph that is indented is a block of code.
    """
    made: list[str] = []
    for paragraph in re.split(r"\n\s*\n", visible(text).strip("\n")):
        lines = paragraph.split("\n")
        if all(line.startswith(" ") for line in lines):
            made.append(block("\n".join(line[4:] for line in lines), "text"))
        else:
            made += _flowing(paragraph)
    return "\n\n".join(part for part in made if part)


def _flowing(paragraph: str) -> Iterator[str]:
    """Prose as lines, and equations that follow each other as one block."""
    for is_equation, parts in itertools.groupby(
        clauses(paragraph), lambda part: part.is_equation
    ):
        if not is_equation:
            yield prose(" ".join(part.text for part in parts))
            continue
        rows = [f"{part.text}{part.end}" for part in parts]
        if len(rows) > 1:
            aligned = " \\\\\n".join(row.replace("=", "&=", 1) for row in rows)
            rows = [r"\begin{aligned}", aligned, r"\end{aligned}"]
        yield block("\n".join(rows), "{math}")


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0], text)


def _escape_start(match: re.Match[str]) -> str:
    number = match[0].isdecimal()
    return match[0] + "\\" if number else "\\" + match[0]


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
