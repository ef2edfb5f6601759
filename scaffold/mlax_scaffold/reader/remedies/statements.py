"""Statements that `setup` does not hold, in the form of those that it does."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.source import Source


def in_setup(source: Source, statement: ast.stmt) -> Fix | None:
    """`match` of constants as `if` and `elif`; without a `del` of locals; None for any other."""
    match statement:
        case ast.Delete(targets=targets) if all(
            isinstance(target, ast.Name) for target in targets
        ):
            return Fix((removed(source, statement),))
        case ast.Match():
            return _branches(source, statement)
    return None


def _branches(source: Source, statement: ast.Match) -> Fix | None:
    subject, indent = source.text_of(statement.subject), " " * statement.col_offset
    lines: list[str] = []
    for number, case in enumerate(statement.cases):
        test = _test(source, subject, case.pattern)
        first = case.body[0].lineno
        header = case.pattern.lineno
        if test is None or case.guard or first == header or (not test and not number):
            return None
        word = "elif" if number else "if"
        lines.append(indent + (f"{word} {test}:" if test else "else:"))
        last = case.body[-1].end_lineno or first
        # The bodies move to the left by as much as those of a `match` stand more to the right.
        lines += [line[4:] for line in source.lines[header:last]]
    text = "\n".join(lines).removeprefix(indent)
    return Fix((source.edit(statement, text),))


def _test(source: Source, subject: str, pattern: ast.pattern) -> str | None:
    """A pattern as a condition; empty for what fits any value, None for one that is no constant."""
    match pattern:
        case ast.MatchValue(value=value):
            return f"{subject} == {source.text_of(value)}"
        case ast.MatchSingleton(value=value):
            return f"{subject} is {value}"
        case ast.MatchOr(patterns=patterns):
            values = [p.value for p in patterns if isinstance(p, ast.MatchValue)]
            if len(values) < len(patterns):
                return None
            return f"{subject} in ({', '.join(map(source.text_of, values))})"
        case ast.MatchAs(pattern=None, name=None):
            return ""
    return None
