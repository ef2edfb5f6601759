"""Follows tests of optional arrays: in `if self.bias is not None`, `self.bias` is an array."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from mlax_scaffold.rewrite.nodes import self_attribute


class PresenceTransformer(cst.CSTTransformer):
    """Keeps in `present` which `optional` attributes the tests around a place have shown not to be None."""

    def __init__(self, optional: Collection[str]):
        super().__init__()
        self.optional = optional
        self.present: list[str] = []

    def visit_If_body(self, node: cst.If) -> None:
        self._enter(node.test, cst.IsNot)

    def leave_If_body(self, node: cst.If) -> None:
        self._leave(node.test, cst.IsNot)

    def visit_If_orelse(self, node: cst.If) -> None:
        self._enter(node.test, cst.Is)

    def leave_If_orelse(self, node: cst.If) -> None:
        self._leave(node.test, cst.Is)

    def visit_IfExp_body(self, node: cst.IfExp) -> None:
        self._enter(node.test, cst.IsNot)

    def leave_IfExp_body(self, node: cst.IfExp) -> None:
        self._leave(node.test, cst.IsNot)

    def visit_IfExp_orelse(self, node: cst.IfExp) -> None:
        self._enter(node.test, cst.Is)

    def leave_IfExp_orelse(self, node: cst.IfExp) -> None:
        self._leave(node.test, cst.Is)

    def _enter(self, test: cst.BaseExpression, operator: type[cst.BaseCompOp]) -> None:
        self.present += self._shown(test, operator)

    def _leave(self, test: cst.BaseExpression, operator: type[cst.BaseCompOp]) -> None:
        del self.present[len(self.present) - len(self._shown(test, operator)) :]

    def _shown(
        self, test: cst.BaseExpression, operator: type[cst.BaseCompOp]
    ) -> list[str]:
        if not isinstance(test, cst.Comparison):
            return []
        name = compared_with_none(test)
        if name is None or name not in self.optional:
            return []
        return [name] if isinstance(test.comparisons[0].operator, operator) else []


def compared_with_none(node: cst.Comparison) -> str | None:
    """`name` for `self.name is None` and `self.name is not None`."""
    match node:
        case cst.Comparison(
            left=left,
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.Is() | cst.IsNot(), comparator=cst.Name("None")
                )
            ],
        ):
            return self_attribute(left)
    return None
