"""The equations of docstrings, which are plain text there, typeset.

A clause is an equation where all of it is names, numbers and operators, with an `=` among them. What is none
stays the text that it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_CLAUSE_END = re.compile(r"(?<=[;:.])\s+|(?<![-+*/=,(])\n(?!\s*[-+*/=^)])")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)|(?P<name>[A-Za-z](?:\w*[A-Za-z0-9])?)"
    r"|(?P<sign>\.\.\.|\*\*|->|<=|>=|!=|\|\||['=+\-*/^_(),<>|\[\]]))",
    re.ASCII,
)
_SIGNS = {
    "...": r"\dots",
    "->": r"\to",
    "<=": r"\le",
    ">=": r"\ge",
    "!=": r"\ne",
    "||": r"\|",
    "*": r"\cdot",
}
_SCRIPTS = {"^": "^", "**": "^", "_": "_"}
_GREEK = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "kappa"),
        *("lambda", "mu", "nu", "pi", "rho", "sigma", "tau", "phi", "omega"),
    )
)
_ENGLISH = frozenset(
    (
        *("the", "is", "of", "are", "with", "and", "or", "by", "for", "each", "at"),
        *("in", "to", "from", "where", "that", "which", "its", "it", "as", "on"),
        *("than", "not", "has", "have", "be", "so", "if", "else", "over", "after"),
        *("before", "given", "all", "when", "then", "this", "both", "their", "only"),
        *("every", "but", "an", "one", "two"),
    )
)
_OPENING, _CLOSING = "([", ")]"


@dataclass(frozen=True)
class Clause:
    """A part of a text: as it was, or typeset."""

    text: str
    is_equation: bool
    end: str = ""
    """The punctuation behind an equation."""


def clauses(text: str) -> Iterator[Clause]:
    """The parts of a paragraph, in order; the text of those that are no equations flows."""
    prose: list[str] = []
    for part in _CLAUSE_END.split(text):
        bare = " ".join(part.split())
        equation, rest = _leading(bare)
        if equation is None:
            prose.append(bare)
            continue
        if any(prose):
            yield Clause(" ".join(filter(None, prose)), False)
        end = rest[:1] if rest[:1] in (";", ".", ",", ":") else ""
        yield Clause(equation, True, end)
        prose = [rest.removeprefix(end).strip()]
    if any(prose):
        yield Clause(" ".join(filter(None, prose)), False)


def _leading(text: str) -> tuple[str | None, str]:
    """The equation with which a clause begins, and the rest of it."""
    bare = text.rstrip(";.,:")
    found = latex(bare)
    stop = len(bare)
    while found is None and "=" in bare:
        bare, comma, _ = text[:stop].rpartition(", ")
        stop = len(bare)
        found = latex(bare) if comma else None
    return found, text[stop:]


def latex(text: str) -> str | None:
    """An equation as LaTeX; None for what is none."""
    if "=" not in text:
        return None
    tokens: list[tuple[str, str]] = []
    end = 0
    while end < len(text.rstrip()):
        match = _TOKEN.match(text, end)
        if match is None:
            return None
        tokens.append((match.lastgroup or "", match[0].strip()))
        end = match.end()
    if not _is_mathematics(tokens):
        return None
    return " ".join(_typeset(tokens))


def _is_mathematics(tokens: Sequence[tuple[str, str]]) -> bool:
    depth, before = 0, ("", "")
    for kind, text in tokens:
        depth += (text in _OPENING) - (text in _CLOSING)
        words = kind == before[0] == "name" and min(len(text), len(before[1])) > 2
        if depth < 0 or words or (kind == "name" and text in _ENGLISH):
            return False
        before = kind, text
    ends = tokens[0][1] != "=" and tokens[-1][1] not in (
        "=",
        "+",
        "-",
        "*",
        "/",
        "^",
        "_",
    )
    return depth == 0 and ends


def _typeset(tokens: Sequence[tuple[str, str]]) -> list[str]:
    made: list[str] = []
    i = 0
    while i < len(tokens):
        kind, text = tokens[i]
        following = tokens[i + 1][1] if i + 1 < len(tokens) else ""
        if text == "sqrt" and following == "(":
            stop = _closing(tokens, i + 1)
            made.append(rf"\sqrt{{{' '.join(_typeset(tokens[i + 2 : stop]))}}}")
            i = stop
        elif text in _SCRIPTS and following:
            stop = _exponent(tokens, i + 1)
            inner = tokens[i + 1 : stop]
            if inner[0][1] == "(":
                inner = inner[1:-1]
            made.append(f"{_SCRIPTS[text]}{{{' '.join(_typeset(inner))}}}")
            i = stop - 1
        elif kind == "name":
            made.append(_name(text, called=following == "("))
        else:
            made.append(_SIGNS.get(text, text))
        i += 1
    return made


def _closing(tokens: Sequence[tuple[str, str]], start: int) -> int:
    """The place of the parenthesis that closes the one at `start`."""
    depth = 0
    for i in range(start, len(tokens)):
        depth += (tokens[i][1] in _OPENING) - (tokens[i][1] in _CLOSING)
        if depth == 0:
            return i
    return len(tokens) - 1


def _exponent(tokens: Sequence[tuple[str, str]], start: int) -> int:
    """The place behind the exponent that begins at `start`."""
    if tokens[start][1] == "-" and start + 1 < len(tokens):
        start += 1
    return (_closing(tokens, start) if tokens[start][1] in _OPENING else start) + 1


def _name(text: str, called: bool) -> str:
    if text in _GREEK:
        return f"\\{text}"
    if len(text) == 1:
        return text
    if re.fullmatch(r"[A-Za-z]\d+", text):
        return f"{text[0]}_{{{text[1:]}}}"
    if not called and re.fullmatch(r"[A-Z][a-z]|[A-Za-z]_[a-z]", text):
        return f"{text[0]}_{text[-1]}"
    form = "operatorname" if called else "mathit"
    escaped = text.replace("_", r"\_")
    return rf"\{form}{{{escaped}}}"
