"""Reads requirements: `require(condition, message)`, and an `if` that raises a ValueError."""

from __future__ import annotations

import ast

from mlax_scaffold.model.conditions import conjunction, contrary
from mlax_scaffold.model.definition import Requirement
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bodies import required
from mlax_scaffold.reader.resolution import Scope
from mlax_scaffold.reader.source import Source, dotted


def read_requirement(scope: Scope, call: ast.Call, method: str) -> Requirement | None:
    """`require(condition, message)`; None, with a finding, where it is malformed, and where it is True."""
    match call:
        case ast.Call(args=[ast.Constant(value=True), told], keywords=[]) if _message(
            told
        ):
            return None
        case ast.Call(args=[condition, told], keywords=[]) if message := _message(told):
            return Requirement(scope.expression(condition), message, method)
    scope.source.report(
        call,
        "expected require(condition, message) with a literal message",
        'For example require(self.features % self.num_heads == 0, "num_heads '
        'must divide features").',
    )
    return None


def check_assertion(source: Source, statement: ast.Assert) -> None:
    """Report an assertion, which is to be a requirement."""
    source.report(
        statement,
        "an assertion checks nothing where Python runs with -O",
        'Write `require(condition, "message")`, which raises a ValueError.',
        fix=required(source, statement),
    )


def read_raises(
    scope: Scope, statement: ast.If, *before: ast.expr
) -> list[Requirement]:
    """The requirements of an `if` in setup, and of each `elif`; what else it holds is reported.

    `before` are the tests before it, none of which held.
    """
    found = _raised(scope, statement, "setup", *before)
    if found is None:
        scope.source.report(
            statement.body[0],
            "an `if` in setup raises a ValueError with a message that says something",
            'Write `raise ValueError("...")`, or `require(condition, "...")`.',
        )
        return []
    match statement.orelse:
        case []:
            return [found]
        case [ast.If(body=[ast.Raise()]) as other]:
            return [found, *read_raises(scope, other, *before, statement.test)]
    scope.source.report(
        statement.orelse[0],
        "what follows an `if` that raises needs no `else`",
        "Write it after the `if`.",
    )
    return [found]


def requirements_of(scope: Scope, node: ast.FunctionDef) -> list[Requirement]:
    """The requirements that stand in a method that is no setup."""
    found: list[Requirement | None] = []
    for part in walk(node):
        match part:
            case ast.Call(func=function) if dotted(function) == "require":
                found.append(read_requirement(scope, part, node.name))
            case ast.If():
                found.append(_raised(scope, part, node.name))
    return [requirement for requirement in found if requirement is not None]


def _raised(
    scope: Scope, node: ast.If, method: str, *before: ast.expr
) -> Requirement | None:
    """The requirement that an `if` is; None where it is none."""
    match node.body:
        case [
            ast.Raise(
                exc=ast.Call(func=ast.Name(id="ValueError"), args=[told], keywords=[]),
                cause=None,
            )
        ]:
            message = _message(told)
            if message.strip(". "):
                tests = [*map(contrary, before), node.test]
                violation = ast.copy_location(conjunction(tuple(tests)), node.test)
                return Requirement(
                    scope.expression(contrary(violation)),
                    message,
                    method,
                    scope.expression(violation),
                )
    return None


def _message(told: ast.expr) -> str:
    """The message, with dots in the place of values; empty where it is no literal."""
    match told:
        case ast.Constant(value=str(message)):
            return message
        case ast.JoinedStr(values=parts):
            return "".join(_message(part) or "..." for part in parts)
    return ""
