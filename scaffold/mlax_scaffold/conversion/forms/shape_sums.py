"""Shapes that are joined of a part of an array's and of sizes, `x.shape[:2] + (heads, dim)`, as one tuple.

So are lists, `list(x.shape[:-1]) + [-1]`, and two that are written out, `[x] + [y]`, are one.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import NodeTransformer, located


def without_shape_sums(origin: Origin) -> None:
    """Write them so in place: `(*x.shape[:2], heads, dim)`."""
    _Sums().visit(origin.tree)
    located(origin.tree)


class _Sums(NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(op=ast.Add(), left=ast.List(elts=a), right=ast.List(elts=b)):
                return ast.copy_location(ast.List([*a, *b], ast.Load()), node)
        if not isinstance(node.op, ast.Add):
            return node
        sides = [_sizes(node.left), _sizes(node.right)]
        if sides[0] is None or sides[1] is None:
            return node
        listed = isinstance(node.left, ast.List) or isinstance(node.right, ast.List)
        if listed and not any(
            isinstance(s, ast.Starred) for s in (*sides[0], *sides[1])
        ):
            return node
        return ast.copy_location(ast.Tuple([*sides[0], *sides[1]], ast.Load()), node)


def _sizes(node: ast.expr) -> list[ast.expr] | None:
    """The sizes of a tuple, or a part of a shape as one that is starred; None for anything else."""
    match node:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return elts
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[part], keywords=[]):
            made = _sizes(part)
            starred = made is not None and any(isinstance(m, ast.Starred) for m in made)
            return made if starred else None
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Slice()):
            return [ast.Starred(node, ast.Load())]
    return None
