"""Loops of constructors that skip the rest of a pass, `if last: continue`, with that rest under a condition.

So is a `break` in the last pass of a loop over `range(n)` or `enumerate(sizes)`, `if i == n - 1: break`.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import negated
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_CALLS = ("forward", "__call__", "call", "apply")


def without_skipped_passes(tree: ast.Module) -> None:
    """Write them so, in place."""
    for owner in walk(tree):
        for node in owner.body if isinstance(owner, ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef) and node.name not in _CALLS:
                for part in walk(node):
                    if isinstance(part, ast.For):
                        part.body = _straight(part, part.body) or [ast.Pass()]
    located(tree)


def _straight(loop: ast.For, body: list[ast.stmt]) -> list[ast.stmt]:
    for at, part in enumerate(body):
        if isinstance(part, ast.Continue):
            return body[:at]
        match part:
            case ast.If(body=[*inner, end], orelse=[]) if isinstance(
                end, ast.Continue
            ) or _ends_last(loop, part.test, end):
                rest = _straight(loop, body[at + 1 :])
            case _:
                continue
        if inner:
            made = [ast.copy_location(ast.If(part.test, inner, rest), part)]
        elif rest:
            test = ast.copy_location(negated(part.test), part.test)
            made = [ast.copy_location(ast.If(test, rest, []), part)]
        else:
            made = []
        return [*body[:at], *made]
    return body


def _ends_last(loop: ast.For, test: ast.expr, end: ast.stmt) -> bool:
    """Whether a loop is left in its last pass, which ends it anyway."""
    if not isinstance(end, ast.Break):
        return False
    match loop.target, loop.iter:
        case ast.Name(id=index), ast.Call(func=ast.Name(id="range"), args=[count]):
            pass
        case (
            ast.Tuple(elts=[ast.Name(id=index), _]),
            ast.Call(func=ast.Name(id="enumerate"), args=[over]),
        ):
            count = ast.Call(ast.Name("len", ast.Load()), [cloned(over)], [])
        case _:
            return False
    match test:
        case ast.Compare(
            left=ast.Name(id=said), ops=[ast.Eq() | ast.GtE()], comparators=[last]
        ):
            return said == index and ast.unparse(last) == f"{ast.unparse(count)} - 1"
    return False
