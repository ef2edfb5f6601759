"""What products with weights say of their operands."""

from __future__ import annotations

import ast

from mlax_scaffold.reader.axes.aliases import Alias


def multiplied(
    left: Alias | None, right: Alias | None, shape: tuple[str, ...] | None
) -> None:
    """`x @ self.kernel`, and the mask in `x @ (self.kernel * mask)`: what goes with a matrix is one.

    Args:
        left: the input that the left side has the shape of.
        right: the one in the right side.
        shape: that of the weight in the right side.
    """
    rows = shape[0] if shape and len(shape) == 2 else ""
    if right and right.whole and not right.extra:
        if rows or {-2, -1} <= {*right.known.axes}:
            right.known.has(2)
        rows = rows or right.known.axes.get(-2, "")
    if rows and left and left.whole:
        left.known.call(-1, rows)


def factors(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """The operands of `x.dot(kernel)` and `jnp.dot(x, kernel)`, as those of `@`; None for any other call."""
    match call:
        case ast.Call(func=ast.Attribute(attr="dot" | "matmul"), args=[left, right]):
            return left, right
        case ast.Call(func=ast.Attribute(value=left, attr="dot"), args=[right]):
            return left, right
    return None
