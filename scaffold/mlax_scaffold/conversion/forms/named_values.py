"""Values that a condition names, `if (b := self.bias) is not None`, as assignments before it."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import LATER, name, visited
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_named_values(origin: Origin) -> None:
    """Write them so in place, where they are computed in any case."""
    for node in walk(origin.tree):
        for title in ("body", "orelse"):
            body = getattr(node, title, None)
            if isinstance(body, list) and not isinstance(node, ast.ClassDef):
                setattr(node, title, [s for part in body for s in _before(part)])
    located(origin.tree)


def _before(node: ast.stmt) -> list[ast.stmt]:
    match node:
        case ast.If():
            named = _Named()
            node.test = visited(named, node.test)
        case ast.Assign() | ast.Return() | ast.Expr():
            named = _Named()
            named.visit(node)
        case _:
            return [node]
    made = [
        ast.Assign([ast.Name(n.target.id, ast.Store())], n.value) for n in named.found
    ]
    return [*(ast.copy_location(m, node) for m in made), node]


class _Named(NodeTransformer):
    def __init__(self) -> None:
        self.found: list[ast.NamedExpr] = []

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, LATER):
            # What stands first is computed in any case.
            match node:
                case ast.BoolOp():
                    node.values[0] = visited(self, node.values[0])
                case ast.IfExp():
                    node.test = visited(self, node.test)
            return node
        return super().visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        self.generic_visit(node)
        self.found.append(node)
        return ast.copy_location(name(node.target.id), node)
