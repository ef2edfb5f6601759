"""Expressions of hyperparameters with what these are given."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from mlax_scaffold.conversion.source.known_values import Known, truth
from mlax_scaffold.conversion.source.trees import (
    folded,
    is_none,
    literal,
    self_attribute,
    visited,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned


def substituted(
    node: ast.expr,
    values: Mapping[str, ast.expr],
    numbers: Collection[str] = (),
) -> ast.expr:
    """An expression with values in the place of `self.name`, of which some are numbers and never None."""

    class Fields(NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            self.generic_visit(node)
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                value = values.get(node.attr)
                return cloned(value) if value is not None else node
            return node

    return folded(visited(_Absent(numbers), Fields().visit(cloned(node))))


class _Absent(NodeTransformer):
    """Takes what is told: a side of `a if b is None else c`, where b is known, and `[a, b][0]`."""

    def __init__(self, numbers: Collection[str]):
        self.numbers = numbers

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        at = literal(node.slice)
        if isinstance(node.value, ast.List | ast.Tuple) and type(at) is int:
            listed = node.value.elts
            passed = listed[: at + 1] if at >= 0 else listed[at:]
            starred = any(isinstance(e, ast.Starred) for e in passed)
            if not starred and -len(listed) <= at < len(listed):
                return listed[at]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        match node.test:
            case ast.Compare(
                left=asked, ops=[ast.Is() | ast.IsNot() as op], comparators=[none]
            ) if is_none(none) and self._is_known(asked):
                absent = is_none(asked) == isinstance(op, ast.Is)
                return node.body if absent else node.orelse
        decided = truth(Known({}, {}).visit(cloned(node.test)))
        if decided is not None:
            return node.body if decided else node.orelse
        return node

    def _is_known(self, asked: ast.expr) -> bool:
        number = self_attribute(asked) in self.numbers
        return number or isinstance(asked, ast.Constant | ast.BinOp)
