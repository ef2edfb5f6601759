"""Functions that keep the shapes of arrays, as values: `activation = nn.relu`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.array_shapes import ALIKE


def pointwise(node: ast.expr) -> bool:
    """Whether an expression is a function that keeps shapes, which is not called, or one of several such."""
    match node:
        case (
            ast.Subscript(value=ast.Dict(values=values))
            | ast.Call(func=ast.Attribute(value=ast.Dict(values=values), attr="get"))
        ):
            return bool(values) and all(map(pointwise, values))
        case ast.IfExp(body=body, orelse=orelse):
            return pointwise(body) and pointwise(orelse)
        case ast.Name() | ast.Attribute():
            text = ast.unparse(node).rpartition(":")[2]
            return "." in text and text.rpartition(".")[2] in ALIKE
        case _:
            return False
