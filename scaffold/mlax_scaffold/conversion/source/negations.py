"""Comparisons that are denied: `not x.shape == y.shape` is `x.shape != y.shape`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
"""Those of which one holds where the other one does not, of arrays and numbers that are none, too."""


def without_negations(tree: ast.Module) -> None:
    """Write the opposite comparison in its place."""
    _Negations().visit(tree)
    located(tree)


class _Negations(NodeTransformer):
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.UnaryOp(
                op=ast.Not(),
                operand=ast.Compare(left=left, ops=[op], comparators=[right]),
            ) if type(op) in _OPPOSITE:
                made = ast.Compare(left, [_OPPOSITE[type(op)]()], [right])
                return ast.copy_location(made, node)
        return node
