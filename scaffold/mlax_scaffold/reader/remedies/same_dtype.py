"""Whose dtype an operand is to have, by what it meets."""

from __future__ import annotations

import ast

from mlax_scaffold.reader.source import Source, dotted, self_attribute


def other_dtype(source: Source, operand: ast.expr, met: ast.AST | None) -> str | None:
    """That of what an operand meets, where that has a name."""
    match met:
        case ast.BinOp(left=left, right=right) if operand in (left, right):
            other = right if operand is left else left
        case ast.Call(func=chosen, args=[_, one, two]) if operand in (one, two):
            other = two if operand is one else one
            if (dotted(chosen) or "").rpartition(".")[2] != "where":
                return None
        case _:
            return None
    other = of_same_dtype(other)
    named = isinstance(other, ast.Name) or self_attribute(other)
    return f"{source.text_of(other)}.dtype" if named else None


_MOVED = frozenset(("ravel", "reshape", "squeeze", "swapaxes", "transpose"))
"""Methods of an array whose result has its dtype."""


def of_same_dtype(node: ast.expr) -> ast.expr:
    """The array that an expression takes parts of, or moves."""
    while True:
        match node:
            case ast.Subscript(value=part) | ast.Attribute(value=part, attr="T" | "mT"):
                node = part
            case ast.Call(func=ast.Attribute(value=part, attr=name)) if name in _MOVED:
                node = part
            case _:
                return node
