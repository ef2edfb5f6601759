"""Sizes after several passes of a loop, each of which divides them, or makes them smaller by the same."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    literal,
    name,
    same,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned

_TRIED = range(24, 61)
"""Sizes that tell how a pass changes one."""
_DIVISORS = range(2, 9)


def after_passes(
    before: ast.expr, after: ast.expr, count: ast.expr | None
) -> ast.expr | None:
    """A size after all passes, of those before and after the first one; None where that is not told."""
    if same(before, after):
        return after
    if count is None:
        return None
    results = [_result(before, after, n) for n in _TRIED]
    for divisor in _DIVISORS:
        for whole, one in _DIVIDED.items():
            if results == [one(n, divisor) for n in _TRIED]:
                parts = {"a": before, "c": ast.Constant(divisor), "n": count}
                return folded(expression(whole, **parts))
    less = _TRIED[0] - (results[0] or 0)
    if results == [n - less for n in _TRIED]:
        change = expression("n * c", n=count, c=ast.Constant(abs(less)))
        return folded(expression(f"a {'-' if less > 0 else '+'} c", a=before, c=change))
    return None


_DIVIDED: dict[str, Callable[[int, int], int]] = {
    "a // c**n": lambda size, by: size // by,
    "-(-a // c**n)": lambda size, by: -(-size // by),
    "a * c**n": lambda size, by: size * by,
}
"""Sizes after `n` passes, by what each makes of one."""


def _result(before: ast.expr, after: ast.expr, size: int) -> int | None:
    """The size after a pass that began with a number; None where it has other sizes, too."""
    put = ast.Expression(cloned(after))
    _Put(before, size).visit(put)
    number = literal(folded(put.body))
    return number if type(number) is int else None


class _Put(NodeTransformer):
    """A number in the place of an expression."""

    def __init__(self, gone: ast.expr, number: int):
        self.gone, self.number = gone, ast.Constant(number)

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and same(node, self.gone):
            return self.number
        return super().visit(node)


def passes(node: ast.For) -> ast.expr | None:
    """How many passes a loop has, over `range(n)`, or over what a field holds, or a part of that."""
    return _length(node.iter)


def _length(source: ast.expr) -> ast.expr | None:
    """How many parts there are to go through; None where that is not told."""
    match source:
        case ast.Call(func=ast.Name(id="enumerate" | "reversed"), args=[inner, *_]):
            return _length(inner)
        case ast.Call(func=ast.Name(id="zip"), args=[_, *_] as inner):
            counts = [_length(part) for part in inner]
            known = {ast.unparse(c): c for c in counts if c is not None}
            if None in counts or not known:
                return None
            if len(known) == 1:
                return next(iter(known.values()))
            return ast.Call(name("min"), list(known.values()), [])
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            return count
        case (
            ast.Attribute(value=ast.Name(id="self"))
            | ast.Subscript(
                value=ast.Attribute(value=ast.Name(id="self")), slice=ast.Slice()
            )
        ):
            return expression("len(s)", s=source)
    return None
