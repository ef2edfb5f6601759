"""Sizes that a class computes of its arguments: `self.head_dim = dim // heads`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from mlax_scaffold.conversion.shapes.sizes import substituted
from mlax_scaffold.conversion.source.trees import self_attribute


def derived_values(
    setup: Iterable[ast.stmt], fields: Collection[str]
) -> dict[str, ast.expr]:
    """What attributes of self are, of fields alone, where that is arithmetic."""
    found: dict[str, ast.expr] = {}
    for part in setup:
        if not isinstance(part, ast.Assign):
            continue
        attribute = self_attribute(part.targets[0])
        value = substituted(part.value, found)
        if attribute is not None and _is_arithmetic(value, fields):
            found[attribute] = value
    return found


def _is_arithmetic(node: ast.expr, fields: Collection[str]) -> bool:
    match node:
        case ast.Constant(value=int()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_arithmetic(left, fields) and _is_arithmetic(right, fields)
        case ast.IfExp(
            test=ast.Compare(left=asked, ops=[ast.Is() | ast.IsNot()], comparators=[_]),
            body=body,
            orelse=other,
        ):
            parts = (asked, body, other)
            return all(_is_arithmetic(part, fields) for part in parts)
    return self_attribute(node) in fields
