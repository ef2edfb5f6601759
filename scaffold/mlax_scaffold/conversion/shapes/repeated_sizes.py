"""Sizes after several passes of a loop, each of which divides them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    is_name,
    literal,
    same,
)


def after_passes(
    before: ast.expr, after: ast.expr, count: ast.expr | None
) -> ast.expr | None:
    """A size after all passes, of those before and after the first one; None where that is not told."""
    if same(before, after):
        return after
    texts = {"a // c": "a // c**n", "-(-a // c)": "-(-a // c**n)"}
    for pass_, whole in texts.items():
        divisor = _divisor(after)
        if divisor is None or count is None:
            return None
        if same(after, expression(pass_, a=before, c=divisor)):
            return folded(expression(whole, a=before, c=divisor, n=count))
    return None


def passes(node: ast.For) -> ast.expr | None:
    """How many passes a loop has, over `range(n)` or what a field holds."""
    source = node.iter
    if isinstance(source, ast.Call) and is_name(source.func, "enumerate"):
        source = source.args[0]
    match source:
        case ast.Call(func=func, args=[count]) if is_name(func, "range"):
            return count
        case ast.Attribute(value=ast.Name(id="self")):
            return expression("len(s)", s=source)
    return None


def _divisor(node: ast.expr) -> ast.expr | None:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    known = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv)
    made = inner.right if known and isinstance(inner, ast.BinOp) else None
    return made if isinstance(literal(made), int) else None
