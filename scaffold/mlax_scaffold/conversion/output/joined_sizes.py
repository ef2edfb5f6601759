"""Lists that are joined with fields: `[size] + self.sizes`, where the sizes of a spec are a tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.output.description import Described
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer


def with_joined_sizes(definitions: Iterable[object]) -> None:
    """Write them as `[size, *self.sizes]`, in place, which takes both lists and tuples."""
    for definition in definitions:
        if isinstance(definition, Described):
            joined = _Joined(f.name for f in definition.fields if _several(f.word))
            for part in (*definition.setup, *definition.methods):
                joined.visit(part)


def _several(word: str) -> bool:
    return word.startswith(("Sizes", "Shape", "tuple"))


class _Joined(NodeTransformer):
    def __init__(self, fields: Iterable[str]):
        self.fields = frozenset(fields)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        sides = node.left, node.right
        listed = any(isinstance(side, ast.List) for side in sides)
        known = all(isinstance(s, ast.List) or self._is_field(s) for s in sides)
        if not isinstance(node.op, ast.Add) or not listed or not known:
            return node
        elements: list[ast.expr] = []
        for side in sides:
            inner = side.elts if isinstance(side, ast.List) else None
            elements += inner or ([ast.Starred(side, ast.Load())] * (inner is None))
        return ast.copy_location(ast.List(elements, ast.Load()), node)

    def _is_field(self, node: ast.expr) -> bool:
        """Whether it is a field of several sizes, or some of these, also as a list of them."""
        match node:
            case ast.Call(func=func, args=[inner], keywords=[]) if is_name(
                func, "list"
            ) or is_name(func, "tuple"):
                return self._is_field(inner)
            case ast.Subscript(value=inner, slice=ast.Slice()):
                return self._is_field(inner)
        return self_attribute(node) in self.fields
