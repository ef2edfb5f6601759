"""Functions that are mapped over trees, as expressions."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.trees import (
    expression,
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
