"""Shapes that are joined of a part of an array's and of sizes, `x.shape[:2] + (heads, dim)`, as one tuple."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin


def without_shape_sums(origin: Origin) -> None:
    """Write them so in place: `(*x.shape[:2], heads, dim)`."""
    _Sums().visit(origin.tree)
    ast.fix_missing_locations(origin.tree)


class _Sums(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Add):
            return node
        sides = [_sizes(node.left), _sizes(node.right)]
        if sides[0] is None or sides[1] is None:
            return node
        return ast.copy_location(ast.Tuple([*sides[0], *sides[1]], ast.Load()), node)


def _sizes(node: ast.expr) -> list[ast.expr] | None:
    """The sizes of a tuple, or a part of a shape as one that is starred; None for anything else."""
    match node:
        case ast.Tuple(elts=elts):
            return elts
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Slice()):
            return [ast.Starred(node, ast.Load())]
    return None
