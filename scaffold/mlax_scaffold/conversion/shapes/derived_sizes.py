"""Sizes that a class computes of its arguments: `self.head_dim = dim // heads`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from mlax_scaffold.conversion.shapes.substituting import substituted
from mlax_scaffold.conversion.source.trees import (
    replaced,
    self_attribute,
    targets,
)


def derived_values(
    setup: Iterable[ast.stmt], fields: Collection[str]
) -> dict[str, ast.expr]:
    """What attributes of self are, of fields alone, where that is arithmetic."""
    return _values(setup, fields)[0]


def local_values(
    setup: Iterable[ast.stmt], fields: Collection[str]
) -> dict[str, ast.expr]:
    """What locals of setup are that are bound once, likewise."""
    return _values(setup, fields)[1]


def _values(
    setup: Iterable[ast.stmt], fields: Collection[str]
) -> tuple[dict[str, ast.expr], dict[str, ast.expr]]:
    found: dict[str, ast.expr] = {}
    locals_: dict[str, ast.expr] = {}
    setup = list(setup)
    bound = [t for part in setup for t in targets(part)]
    for part in setup:
        if not isinstance(part, ast.Assign):
            continue
        target = part.targets[0]
        value = substituted(replaced(part.value, locals_), found)
        if not _is_arithmetic(value, fields):
            continue
        attribute = self_attribute(target)
        if attribute is not None:
            found[attribute] = value
        elif isinstance(target, ast.Name) and bound.count(target.id) == 1:
            locals_[target.id] = value
    return found, locals_


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
