"""Variables of nnx that a file derives: those that calls only leave behind, and those that are weights."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_VARIABLES = ("flax.nnx.Variable", "flax.nnx.Intermediate")
_PARAM = "flax.nnx.Param"


def without_sown(origin: Origin, thing: str, notes: Notes) -> None:
    """Leave out what a call only notes down, with a remark; classes of weights are `nnx.Param`."""
    derived = {
        node.name: origin.qualified(_base(node))
        for node in origin.classes.values()
        if len(node.bases) == 1
    }
    sown = {n for n, base in derived.items() if base in _VARIABLES}
    weights = {n: b for n, b in derived.items() if b == _PARAM}
    used = used_by(origin, thing)
    for node in origin.classes.values():
        for part in walk(node):
            if isinstance(part, ast.Call) and getattr(part.func, "id", "") in weights:
                _with_base(origin, part)
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                for part in walk(method):
                    if (
                        isinstance(part, ast.Call)
                        and getattr(part.func, "id", "") in sown
                    ):
                        _with_base(origin, part)
            if isinstance(method, ast.FunctionDef) and method.name == "__call__":
                told = notes if node.name in used else Notes()
                left_out = _Sown(origin, node, sown, told)
                method.body = [s for s in map(left_out.visit, method.body) if s]
                method.body = method.body or [ast.Pass()]


def _base(node: ast.ClassDef) -> ast.expr:
    """What a class is built on, without its types: `nnx.Variable[jax.Array]`."""
    base = node.bases[0]
    return base.value if isinstance(base, ast.Subscript) else base


def _with_base(origin: Origin, node: ast.Call) -> None:
    """Make a variable of a class of the file as one of the library, in place."""
    base = _base(origin.classes[node.func.id])  # type: ignore[attr-defined]
    node.func = ast.copy_location(cloned(base), node.func)


class _Sown(NodeTransformer):
    def __init__(
        self, origin: Origin, owner: ast.ClassDef, sown: set[str], notes: Notes
    ):
        self.origin, self.sown, self.notes = origin, sown, notes
        self.read = {
            self_attribute(part)
            for part in walk(owner)
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load)
        }

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        self.generic_visit(node)
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

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        # What gradients are taken at is the value itself.
        perturbs = self_attribute(node.func) == "perturb" and len(node.args) > 1
        return node.args[1] if perturbs else node

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
