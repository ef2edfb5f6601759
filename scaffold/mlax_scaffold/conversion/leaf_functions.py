"""Functions that are mapped over trees, as expressions."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.trees import (
    constant,
    expression,
    literal,
    replaced,
    without_docstring,
)


def _as_lambda(function: ast.FunctionDef) -> ast.Lambda | None:
    """A function of straight lines as one expression."""
    known: dict[str, ast.expr] = {}
    for part in without_docstring(function.body):
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            known[part.targets[0].id] = replaced(part.value, known)
        elif isinstance(part, ast.Return) and part.value is not None:
            given = [ast.arg(a.arg) for a in function.args.args]
            return ast.Lambda(
                ast.arguments([], given, None, [], [], None, []),
                replaced(part.value, known),
            )
        else:
            return None
    return None


def _next(value: ast.expr) -> ast.expr:
    text = ast.unparse(value)
    return (
        expression("self.step")
        if text == "self.step - 1.0"
        else expression("v + 1", v=value)
    )


class Decided(ast.NodeTransformer):
    """Leaves out the conditions that literals decide, such as `10.0 is not None`."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        match node:
            case ast.Compare(
                left=ast.Constant(value),
                ops=[ast.Is() | ast.IsNot() as operator],
                comparators=[ast.Constant(value=None)],
            ):
                return constant((value is None) == isinstance(operator, ast.Is))
        self.generic_visit(node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        neutral = isinstance(node.op, ast.And)
        node.values = [v for v in node.values if literal(v) is not neutral]
        if any(literal(v) is (not neutral) for v in node.values[:1]):
            return constant(not neutral)
        if len(node.values) > 1:
            return node
        return node.values[0] if node.values else constant(neutral)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node
