"""What of a statement is computed before a call in it, and what after."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import pairwise

from mlax_scaffold.conversion.source.walking import NodeTransformer, walk


def walked(target: ast.expr, iterated: ast.expr) -> Iterable[tuple[ast.expr, ast.expr]]:
    """What a loop goes over, and the names that it gives."""
    yield iterated, target
    if isinstance(iterated, ast.Call) and isinstance(target, ast.Tuple):
        text = ast.unparse(iterated.func)
        if text == "zip":
            yield from zip(iterated.args, target.elts, strict=False)
        elif text == "enumerate" and iterated.args:
            yield from walked(target.elts[-1], iterated.args[0])


def _children(node: ast.AST) -> list[ast.AST]:
    """The parts of an expression in the order in which they are run."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr):
        return [node.value] if node.value is not None else []
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    return [
        c.value if isinstance(c, ast.keyword) else c for c in ast.iter_child_nodes(node)
    ]


def _path(node: ast.AST, call: ast.AST) -> list[ast.AST] | None:
    if node is call:
        return [node]
    for child in _children(node):
        found = _path(child, call)
        if found is not None:
            return [node, *found]
    return None


def is_reached(node: ast.stmt, call: ast.Call) -> bool:
    """Whether a call is run once and in any case when the statement is."""
    path = _path(node, call)
    apart = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.GeneratorExp)
    return path is not None and not any(isinstance(p, apart) for p in path)


def earlier(node: ast.stmt, call: ast.Call) -> list[ast.expr]:
    """The parts of a statement that are computed before a call."""
    found: list[ast.expr] = []
    path = _path(node, call) or []
    for outer, inner in pairwise(path):
        for child in _children(outer):
            if child is inner:
                break
            if isinstance(child, ast.expr):
                found.append(child)
    return found


def elsewhere_read(node: ast.stmt, call: ast.Call) -> set[str]:
    """The names that a statement reads beside a call, when or after it is run."""
    inside = {id(p) for p in walk(call)}
    before = {
        id(p)
        for part in earlier(node, call)
        if not isinstance(part, ast.Name)
        for p in walk(part)
    }
    return {
        p.id
        for p in walk(node)
        if isinstance(p, ast.Name)
        and isinstance(p.ctx, ast.Load)
        and id(p) not in inside | before
    }


def put(node: ast.AST, old: ast.AST, new: ast.expr) -> None:
    """Put another expression in the place of a part of a tree, which is changed."""

    class Put(NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if node is old:
                return ast.copy_location(new, node)
            return self.generic_visit(node)

    Put().visit(node)
