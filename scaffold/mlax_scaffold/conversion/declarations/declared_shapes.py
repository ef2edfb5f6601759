"""Shapes of weights that a constructor reads, as they are declared: `self.weight.size(0)`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned

_LIKE = ("zeros_like", "ones_like", "empty_like", "full_like")


class DeclaredShapes(NodeTransformer):
    """Writes them out."""

    def __init__(self, builder: Builder):
        self.builder = builder

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        shape = self._shape(node.value) if node.attr == "shape" else None
        return node if shape is None else ast.copy_location(shape, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = node.func
        if not isinstance(func, ast.Attribute):
            return node
        shape = self._shape(func.value) if func.attr == "size" else None
        at = literal(node.args[0]) if node.args else None
        if shape is not None and not node.args:
            return ast.copy_location(shape, node)
        if shape is not None and isinstance(at, int) and -1 <= at < len(shape.elts):
            return ast.copy_location(shape.elts[at], node)
        if func.attr in _LIKE and node.args:
            shape = self._shape(node.args[0])
            if shape is not None and self.builder.origin.qualified(func.value):
                func.attr = func.attr.removesuffix("_like")
                node.args[0] = shape
        return node

    def _shape(self, node: ast.expr) -> ast.Tuple | None:
        """The shape of a weight; None for what is none, or is not declared by a tuple."""
        while isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        known = self.builder.attributes.get(self_attribute(node) or "")
        if known is None or known.call is None or known.kind not in ("weight", "state"):
            return None
        declared = known.call.args[1] if len(known.call.args) > 1 else None
        return cloned(declared) if isinstance(declared, ast.Tuple) else None
