"""Tuples that are taken apart where they are made: `y, _ = (f(x), None)` is `y = f(x)`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import literal, names
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk


def without_known_tuples(method: ast.FunctionDef) -> None:
    """Write their parts, in place."""
    read = {
        n.id
        for n in walk(method)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    _Parts(read).visit(method)


class _Parts(NodeTransformer):
    def __init__(self, read: set[str]):
        self.read = read

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        at, made = literal(node.slice), node.value
        if isinstance(made, ast.Tuple) and type(at) is int and 0 <= at < len(made.elts):
            others = [e for i, e in enumerate(made.elts) if i != at]
            if all(isinstance(e, ast.Constant) for e in others):
                return made.elts[at]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=bound)], value=ast.Tuple(elts=given)
            ):
                pairs = [*zip(bound, given, strict=False)]
                told = [(b, g) for b, g in pairs if isinstance(b, ast.Name)]
                absent = any(isinstance(g, ast.Constant) for g in given)
                if len(bound) != len(given) or len(told) != len(pairs) or not absent:
                    return node
                if {b.id for b, _ in told} & {n for g in given for n in names(g)}:
                    plain = [g for g in given if not isinstance(g, ast.Constant)]
                    if len(plain) > 1:
                        return node
                kept = [
                    ast.copy_location(ast.Assign([b], g), node)
                    for b, g in told
                    if not isinstance(g, ast.Constant) or b.id in self.read
                ]
                # What computes comes before constants, which may have names that it reads.
                kept.sort(key=lambda s: isinstance(s.value, ast.Constant))
                return [*kept] or [ast.copy_location(ast.Pass(), node)]
        return node
