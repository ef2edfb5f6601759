"""Reads requirements: `require(condition, message)`, and an `if` that raises a ValueError."""

from __future__ import annotations

import ast

from mlax_scaffold.model.definition import Requirement
from mlax_scaffold.spec.parse_source import Source, dotted


def read_requirement(source: Source, call: ast.Call, method: str) -> Requirement | None:
    """`require(condition, message)`; None, with a finding, where it is malformed."""
    match call:
        case ast.Call(args=[condition, ast.Constant(value=str(message))], keywords=[]):
            return Requirement(source.segment(condition), message, method)
    source.report(
        call,
        "expected require(condition, message) with a literal message",
        'For example require(self.features % self.num_heads == 0, "num_heads '
        'must divide features").',
    )
    return None


def read_raises(
    source: Source, statement: ast.If, before: str = ""
) -> list[Requirement]:
    """The requirements of an `if` in setup, and of each `elif`; what else it holds is reported.

    `before` is the condition that the tests before it did not hold.
    """
    found = _raised(statement, "setup", before)
    if found is None:
        source.report(
            statement.body[0],
            "an `if` in setup raises a ValueError with a message that says something",
            'Write `raise ValueError("...")`, or `require(condition, "...")`.',
        )
        return []
    match statement.orelse:
        case []:
            return [found]
        case [ast.If(body=[ast.Raise()]) as other]:
            return [found, *read_raises(source, other, f"{before}{_no(statement)}")]
    source.report(
        statement.orelse[0],
        "what follows an `if` that raises needs no `else`",
        "Write it after the `if`.",
    )
    return [found]


def requirements_of(source: Source, node: ast.FunctionDef) -> list[Requirement]:
    """The requirements that stand in a method that is no setup."""
    found: list[Requirement | None] = []
    for part in ast.walk(node):
        match part:
            case ast.Call(func=function) if dotted(function) == "require":
                found.append(read_requirement(source, part, node.name))
            case ast.If():
                found.append(_raised(part, node.name))
    return [requirement for requirement in found if requirement is not None]


def _raised(node: ast.If, method: str, before: str = "") -> Requirement | None:
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
                test = f"{before}{ast.unparse(node.test)}"
                return Requirement(f"not ({test})", message, method, test)
    return None


def _no(node: ast.If) -> str:
    return f"not ({ast.unparse(node.test)}) and "


def _message(told: ast.expr) -> str:
    """The message, with dots in the place of values; empty where it is no literal."""
    match told:
        case ast.Constant(value=str(message)):
            return message
        case ast.JoinedStr(values=parts):
            return "".join(_message(part) or "..." for part in parts)
    return ""
