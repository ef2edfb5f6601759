"""Methods that end in `if a: return x` and `elif b: return y`, which return None where neither holds.

A layer returns arrays: it says there what has to hold.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.requirements import told_test
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import cloned, walk


def with_last_branches(node: ast.ClassDef) -> None:
    """Let the last of several such branches raise an error where its condition fails, in place."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.body:
            method.body = [s for part in method.body for s in _branched(part)]
            _complete(method.body)


def _branched(node: ast.stmt) -> list[ast.stmt]:
    """A choice between sums of what layers return, as a statement: their states are threaded in order."""
    match node:
        case ast.Return(value=ast.IfExp(test=test, body=one, orelse=other)):
            sides = [side for side in (one, other) if isinstance(side, ast.BinOp)]
            if not any(self_attribute(p) for s in sides for p in _called(s)):
                return [node]
            first = ast.copy_location(ast.Return(one), node)
            second = ast.copy_location(ast.Return(other), node)
            return [ast.copy_location(ast.If(test, [first], [second]), node)]
    return [node]


def _called(node: ast.expr) -> list[ast.expr]:
    return [p.func for p in walk(node) if isinstance(p, ast.Call)]


def _complete(body: list[ast.stmt]) -> None:
    last, tests = body[-1], list[ast.expr]()
    while isinstance(last, ast.If) and _returns(last.body):
        tests.append(cloned(last.test))
        if not last.orelse:
            if len(tests) > 1:
                told = told_test(ast.BoolOp(ast.Or(), tests))
                error = f"raise ValueError({told!r})"
                [raised] = ast.parse(error).body
                last.orelse = [_placed(raised, last)]
            return
        if len(last.orelse) != 1:
            return
        last = last.orelse[0]


def _placed(node: ast.stmt, where: ast.stmt) -> ast.stmt:
    for part in walk(node):
        if isinstance(part, ast.stmt | ast.expr):
            ast.copy_location(part, where)
    return node


def _returns(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return) and body[-1].value is not None
