"""Assertions of PyTorch's code about the numbers of arrays, `assert (a == b).all()`: left out."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import Removing
from mlax_scaffold.conversion.source.walking import walk

_OF_NUMBERS = ("all", "any", "allclose", "isnan", "isfinite", "isinf", "equal", "item")


def without_array_assertions(origin: Origin, thing: str, notes: Notes) -> None:
    """Leave them out in place, which is told of the class or the function that is converted."""
    if not origin.uses("torch"):
        return
    for node in origin.tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            left_out = _LeftOut()
            left_out.visit(node)
            for part in left_out.found if node.name == thing else ():
                notes.remark(
                    part,
                    f"`{ast.unparse(part)}` is left out: it asks for the numbers of arrays",
                    "check it where the layer is called, outside of what is compiled",
                )


class _LeftOut(Removing):
    def __init__(self):
        self.found: list[ast.Assert] = []

    def visit_Assert(self, node: ast.Assert) -> ast.stmt | None:
        asks = any(
            isinstance(p, ast.Call)
            and isinstance(p.func, ast.Attribute)
            and p.func.attr in _OF_NUMBERS
            for p in walk(node.test)
        )
        if not asks:
            return node
        self.found.append(node)
        return None
