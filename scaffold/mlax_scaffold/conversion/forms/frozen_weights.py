"""Loops over weights that are not to be trained: `for p in self.parameters(): p.requires_grad = False`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.initial_rules import called
from mlax_scaffold.conversion.rows.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.source.walking import walk

_TOLD = "requires_grad"


def freezes(node: ast.For) -> bool:
    """Whether a loop says which weights are trained; other statements may fill weights, and nothing else."""
    parts = [p for p in walk(node) if isinstance(p, ast.stmt) and p is not node]
    simple = [p for p in parts if not isinstance(p, ast.If | ast.For | ast.With)]
    said = [_says(part) for part in simple]
    kept = all(s or _fills(p) for s, p in zip(said, simple, strict=True))
    return any(said) and kept


def _says(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Attribute(attr=attr)]):
            return attr == _TOLD
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attr))):
            return attr == f"{_TOLD}_"
    return False


def _fills(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=func)):
            return called(func) in IN_PLACE
    return isinstance(node, ast.Pass | ast.Continue | ast.Break)
