"""Variables of nnx that a file derives: those that calls only leave behind, and those that are weights."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute

_VARIABLES = ("flax.nnx.Variable", "flax.nnx.Intermediate")
_PARAM = "flax.nnx.Param"


def without_sown(origin: Origin, notes: Notes) -> None:
    """Leave out what a call only notes down, with a remark; classes of weights are `nnx.Param`."""
    derived = {
        node.name: origin.qualified(node.bases[0])
        for node in origin.classes.values()
        if len(node.bases) == 1
    }
    sown = {n for n, base in derived.items() if base in _VARIABLES}
    weights = {n: b for n, b in derived.items() if b == _PARAM}
    for node in origin.classes.values():
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and getattr(part.func, "id", "") in weights:
                title = part.func.id  # type: ignore[attr-defined]
                part.func = ast.copy_location(origin.classes[title].bases[0], part.func)
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__call__":
                left_out = _Sown(origin, node, sown, notes)
                method.body = [s for s in map(left_out.visit, method.body) if s]
                method.body = method.body or [ast.Pass()]


class _Sown(ast.NodeTransformer):
    def __init__(
        self, origin: Origin, owner: ast.ClassDef, sown: set[str], notes: Notes
    ):
        self.origin, self.sown, self.notes = origin, sown, notes
        self.read = {
            self_attribute(part)
            for part in ast.walk(owner)
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load)
        }

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        attribute = self_attribute(node.targets[0])
        func = node.value.func if isinstance(node.value, ast.Call) else None
        known = (
            getattr(func, "id", "") in self.sown
            or self.origin.qualified(func or node) in _VARIABLES
        )
        if attribute is None or not known or attribute in self.read:
            return node
        self._remark(node, f"self.{attribute}")
        return None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        func = node.value.func if isinstance(node.value, ast.Call) else None
        if func is None or self_attribute(func) != "sow":
            return node
        self._remark(node, ast.unparse(node))
        return None

    def _remark(self, node: ast.AST, what: str) -> None:
        self.notes.remark(
            node,
            f"`{what}`, which the call only leaves behind, is left out",
            "return it, or compute it where it is needed",
        )
