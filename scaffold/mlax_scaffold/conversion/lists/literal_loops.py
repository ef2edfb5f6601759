"""Loops over several numbers for each layer, `for channels, kernel in ((16, 8), (32, 4))`, written out."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    self_attribute,
    with_names,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_MOST = 8
"""Loops of more passes are not written out."""


def literal_passes(node: ast.For) -> list[ast.stmt] | None:
    """The passes of a loop over several numbers for each layer, which are written out; None of another."""
    source = node.iter
    if (
        not isinstance(source, ast.Tuple | ast.List)
        or not 0 < len(source.elts) <= _MOST
    ):
        return None
    ends = (ast.Break, ast.Continue)
    if node.orelse or any(isinstance(part, ends) for part in walk(node)):
        return None
    if not isinstance(node.target, ast.Tuple):
        return None
    passes: list[ast.stmt] = []
    for given in source.elts:
        values = given.elts if isinstance(given, ast.Tuple | ast.List) else []
        if len(values) != len(node.target.elts):
            return None
        if any(isinstance(literal(v), ast.AST) for v in values):
            return None
        parts: dict[str, ast.expr] = {}
        for one, value in zip(node.target.elts, values, strict=True):
            if not isinstance(one, ast.Name):
                return None
            parts[one.id] = value
        body = [with_names(cloned(part), parts) for part in node.body]
        passes += [_Fresh(len(passes)).visit(part) for part in body]
    return passes


def layer_passes(node: ast.For) -> list[ast.stmt] | None:
    """The passes of a loop over layers that stand in it, `for conv in (self.first, self.second)`."""
    counted = isinstance(node.iter, ast.Call) and is_name(node.iter.func, "enumerate")
    source, target = node.iter, node.target
    number: ast.expr | None = None
    if counted and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        assert isinstance(source, ast.Call)
        source, (number, target) = source.args[0], target.elts
    if not isinstance(source, ast.Tuple | ast.List) or not isinstance(target, ast.Name):
        return None
    ends = (ast.Break, ast.Continue)
    if node.orelse or any(isinstance(part, ends) for part in walk(node)):
        return None
    if not source.elts or any(_attribute_of(e) is None for e in source.elts):
        return None
    found: list[ast.stmt] = []
    for at, layer in enumerate(source.elts):
        parts = {target.id: layer}
        if isinstance(number, ast.Name):
            parts[number.id] = ast.Constant(at)
        found += [with_names(cloned(part), parts) for part in node.body]
    return found


def _attribute_of(node: ast.expr) -> str | None:
    """The attribute that an expression is, or is a part of: `self.norms[0]`."""
    while isinstance(node, ast.Subscript) and isinstance(literal(node.slice), int):
        node = node.value
    return self_attribute(node)


class _Fresh(NodeTransformer):
    """Sizes that declarations wait for are others in each pass."""

    def __init__(self, number: int):
        self.number = number

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if is_symbol(node) and node.id.startswith(("@last:", "@second:")):
            node.id = f"{node.id}_{self.number}"
        return node
