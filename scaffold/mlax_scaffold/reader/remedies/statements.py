"""Statements that `setup` does not hold, in the form of those that it does."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bindings import chain_of, is_elif
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.source import Source


def in_setup(source: Source, statement: ast.stmt) -> Fix | None:
    """`match` as `if` and `elif`, no `del` of locals, and what the last `else` raises before the branches."""
    match statement:
        case ast.Delete(targets=targets) if all(
            isinstance(target, ast.Name) for target in targets
        ):
            return Fix((removed(source, statement),))
        case ast.Match():
            return _branches(source, statement)
        case ast.Raise():
            return _raised_at_last(source, statement)
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


def _raised_at_last(source: Source, raised: ast.Raise) -> Fix | None:
    """`else: raise ...` behind branches that declare: the last of them is the `else`."""
    for node in walk(source.tree):
        if not isinstance(node, ast.If) or is_elif(source, node):
            continue
        branches, other = chain_of(node)
        if len(other) != 1 or not _is_at(other[0], raised) or len(branches) < 2:
            continue
        last = branches[-1][1][-1]
        if raised.lineno == last.end_lineno:
            return None
        test = branches[-1][0]
        head = next(n for n in walk(node) if isinstance(n, ast.If) and n.test is test)
        edits = [
            source.replace(source.start(head), source.end(test), "else"),
            source.replace(source.end(last), source.end(raised), ""),
        ]
        indent = " " * node.col_offset
        tests = " or ".join(source.text_of(t) for t, _ in branches)
        error = _told(source, raised, tests)
        text = f"if not ({tests}):\n{indent}    {error}\n{indent}"
        return Fix((source.insert(node, text), *edits))
    return None


def _told(source: Source, raised: ast.Raise, tests: str) -> str:
    """What is raised, with a message that says something."""
    match raised.exc:
        case ast.Call(args=[ast.Constant(value=str()) | ast.JoinedStr()]):
            return source.text_of(raised)
    holds = tests.replace("self.", "").replace('"', "'")
    return f'raise ValueError("{holds} must hold")'


def _is_at(node: ast.AST, other: ast.AST) -> bool:
    return getattr(node, "lineno", 0) == getattr(other, "lineno", -1)
