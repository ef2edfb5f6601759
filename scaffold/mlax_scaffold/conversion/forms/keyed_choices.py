"""Sizes and layers that a table has under a setting, as choices by it.

width = {"down": 2 * dim, "same": dim}[kind]    becomes    width = 2 * dim if kind == "down" else dim

The last one is that of all other keys. Tables of classes and of functions are read where these are called.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, located


def without_keyed_choices(origin: Origin, layers: Collection[str]) -> None:
    """Write them so, in place, in classes of layers.

    Args:
        origin: the file.
        layers: the full names of the classes of layers of libraries.
    """
    for node in origin.classes.values():
        if is_layer_class(origin, node):
            _Choices(origin, layers).visit(node)
    located(origin.tree)


class _Choices(NodeTransformer):
    """Writes those of one class."""

    def __init__(self, origin: Origin, layers: Collection[str]):
        self.origin, self.layers = origin, layers

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Subscript(
                value=ast.Dict(keys=keys, values=[*first, last]),
                slice=ast.Name() | ast.Attribute() as key,
            ) if first and all(type(literal(k)) in (str, bool) for k in keys):
                if not self._are_chosen([*first, last]):
                    return node
            case _:
                return node
        made = last
        for title, value in zip(keys[-2::-1], first[::-1], strict=True):
            assert title is not None
            test = ast.Compare(cloned(key), [ast.Eq()], [title])
            made = ast.IfExp(test, value, made)
        return ast.copy_location(made, node)

    def _are_chosen(self, values: list[ast.expr]) -> bool:
        """Whether a choice of these can be followed: layers that are made, or sizes, one of which says so."""
        if all(map(self._makes, values)):
            return True
        sizes = [type(literal(v)) is int or isinstance(v, ast.BinOp) for v in values]
        read = (isinstance(v, ast.Name | ast.Attribute) for v in values)
        return any(sizes) and all(s or r for s, r in zip(sizes, read, strict=True))

    def _makes(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return False
        own = self.origin.classes.get(getattr(node.func, "id", ""))
        if own is not None:
            return is_layer_class(self.origin, own)
        return self.origin.qualified(node.func) in self.layers
