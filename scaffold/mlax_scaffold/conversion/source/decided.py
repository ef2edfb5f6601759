"""Statements with conditions decided, of which all is known."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.known_values import Known, truth
from mlax_scaffold.conversion.source.walking import NodeTransformer


class Decided(NodeTransformer):
    """Statements with what is known in place, and without what is not reached then."""

    def __init__(self, known: Known):
        self.known = known

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for part in body:
            new = self.visit(part)
            made += new if isinstance(new, list) else [new]
        return made or [ast.Pass()]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for title in ("body", "orelse"):
            inner = getattr(node, title, None)
            if isinstance(inner, list):
                setattr(node, title, self.statements(inner) if inner else [])
        for title, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, title, self.known.visit(value))
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        node.test = self.known.visit(node.test)
        decided = truth(node.test)
        if decided is None:
            return self.generic_visit(node)
        chosen = node.body if decided else node.orelse
        return self.statements(chosen) if chosen else []
