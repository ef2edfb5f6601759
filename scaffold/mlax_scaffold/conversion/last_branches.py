"""Methods that end in `if a: return x` and `elif b: return y`, of which the last is what is left."""

from __future__ import annotations

import ast


def with_last_branches(node: ast.ClassDef) -> None:
    """Write the last of several such branches as an else, in place."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.body:
            _complete(method.body)


def _complete(body: list[ast.stmt]) -> None:
    last, before = body[-1], None
    while isinstance(last, ast.If) and _returns(last.body):
        if not last.orelse:
            if before is not None:
                before.orelse = last.body
            return
        if len(last.orelse) != 1:
            return
        before, last = last, last.orelse[0]


def _returns(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return) and body[-1].value is not None
