"""Tells whether an update of one weight takes items by the number of the step, which is an integer then."""

from __future__ import annotations

import ast

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import only_value
from mlax_scaffold.reader.source import self_attribute

_DEPTH = 4
"""So many locals are looked into, one in the other."""


def takes_items_by_step(method: ast.FunctionDef) -> bool:
    """Whether `self.step_number` is an index, and nowhere becomes a floating number."""

    def counts(node: ast.AST, depth: int = 0) -> bool:
        parts = list(walk(node))
        if any(isinstance(p, ast.expr) and _is_number(p) for p in parts):
            return True
        names = [p.id for p in parts if isinstance(p, ast.Name)]
        values = [v for name in names for v in only_value(name, method)]
        return depth < _DEPTH and any(counts(v, depth + 1) for v in values)

    indexed = False
    for node in walk(method):
        match node:
            case ast.Subscript(slice=index):
                indexed = indexed or counts(index)
            case ast.BinOp(left=left, op=ast.Pow() | ast.Div(), right=right):
                if any(_is_plain(s) and counts(s) for s in (left, right)):
                    return False
    return indexed


def _is_number(node: ast.expr) -> bool:
    return self_attribute(node) == "step_number"


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression takes no item of anything."""
    return not any(isinstance(n, ast.Subscript) for n in walk(node))
