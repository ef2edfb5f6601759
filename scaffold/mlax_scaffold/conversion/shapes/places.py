"""What is between two places along an axis, and what axes are called by their places."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.conversion.source.trees import expression, folded, literal, same


def difference(end: ast.expr, start: ast.expr) -> ast.expr:
    """How far it is from one to the other; of multiples of one size, a multiple of that."""
    if literal(start) == 0:
        return end
    match end:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if same(left, start):
            return right
    (many, size), (less, other) = _multiple(end), _multiple(start)
    if same(size, other):
        number = ast.Constant(many - less)
        return folded(expression("n * a", n=number, a=size))
    return folded(expression("a - b", a=end, b=start))


def _multiple(node: ast.expr) -> tuple[int, ast.expr]:
    """How many of what a size is."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            number = literal(one)
            if isinstance(number, int):
                return number, other
    return 1, node


_OF_IMAGES: dict[tuple[int, ...], Sequence[str]] = {
    (0, 2, 3, 1): ("batch", "channels", "height", "width"),
    (0, 3, 1, 2): ("batch", "height", "width", "channels"),
}


def axes_reordered(order: Sequence[int]) -> Sequence[str]:
    """What the axes are called of an array whose axes stand in this order then."""
    return _OF_IMAGES.get(tuple(order), ["_"] * len(order))


def names_of(count: int) -> tuple[str, ...]:
    """Names of so many axes; of those of an image where the number is negative."""
    sides = {3: ("time",), 4: ("height", "width"), 5: ("depth", "height", "width")}
    if -count in sides:
        return ("batch", "channels", *sides[-count])
    return ("batch", *["_"] * (count - 1))
