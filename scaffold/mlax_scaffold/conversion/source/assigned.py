"""Attributes that calls of an object change."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk

_MAKERS = ("__init__", "setup")


def assigned_in_calls(node: ast.AST) -> set[str]:
    """Attributes that methods other than the constructor assign."""
    return {
        attribute
        for method in getattr(node, "body", [])
        if isinstance(method, ast.FunctionDef) and method.name not in _MAKERS
        for part in walk(method)
        if (attribute := _assigned(part))
    }


def _assigned(node: ast.AST) -> str | None:
    """The attribute that is bound, of which a part is, or whose method in place is called."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return self_attribute(node) or self_attribute(node.value)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return self_attribute(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr
        in_place = method.endswith("_") and not method.startswith("_")
        return self_attribute(node.func.value) if in_place else None
    return None
