"""Methods that read layers by names that they compute, `getattr(self, f"conv{i}")`, written out.

So are choices that numbers decide: nothing is left of a side that is not taken.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.lists.run_methods import Written
from mlax_scaffold.conversion.source.known_values import Known, truth
from mlax_scaffold.conversion.source.trees import is_name, literal
from mlax_scaffold.conversion.source.walking import NodeTransformer


def without_computed_names(
    node: ast.ClassDef, start: ast.FunctionDef, settled: Mapping[str, ast.expr]
) -> None:
    """Change a class in place.

    Args:
        node: the class.
        start: its constructor, which was run.
        settled: attributes that are literals.
    """
    written = Written(Known({}, {**settled}), is_computed)
    tests = _Tests(Known({}, {**settled}))
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method is not start:
            method.body = written.statements(method.body)
            for at, part in enumerate(method.body):
                method.body[at] = tests.visit(part)


def is_computed(node: ast.AST) -> bool:
    """Whether a call reads or sets an attribute of `self` by a name that is no literal."""
    match node:
        case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[owner, title, *_]):
            return is_name(owner, "self") and not isinstance(literal(title), str)
    return False


class _Tests(NodeTransformer):
    """Takes the side of a choice that numbers decide."""

    def __init__(self, known: Known):
        self.known = known

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        decided = truth(self.known.value(node.test))
        if decided is None:
            return node
        return node.body if decided else node.orelse
