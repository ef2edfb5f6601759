"""What each item of one vector with each of another one makes: `levels[:, None] > ranks[None, :]`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from mlax_scaffold.reader.axes.index_parts import is_new, is_whole
from mlax_scaffold.reader.axes.operations import by_element


def outer(node: ast.expr, bound: Mapping[str, Sequence[ast.expr]]) -> int | None:
    """The number of axes of such an expression, and of a local that one is bound to; None of any other.

    `bound` are the values of locals.
    """
    match node:
        case ast.Name(id=name) if len(values := bound.get(name, ())) == 1:
            return outer(values[0], {})
        case ast.Call(func=ast.Attribute(value=inner, attr="astype")):
            return outer(inner, bound)
        case (
            ast.BinOp(left=left, right=right)
            | ast.Compare(left=left, comparators=[right])
        ):
            new = [_new_axes(side) for side in (left, right)]
            if {len(n) for n in new} == {2} and new[0] != new[1]:
                return 2
    return None


def of_elements(node: ast.expr) -> str:
    """The name in `jnp.exp(x)`, and in `x`: that of what an expression has the shape of."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Call(func=function, args=[first]) if by_element(function):
            return of_elements(first)
    return ""


def _new_axes(node: ast.expr) -> list[bool]:
    """Which parts of `x[:, None]` are new axes, and not whole ones; none of any other index."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            if all(is_new(p) or is_whole(p) for p in parts) and any(map(is_new, parts)):
                return [is_new(p) for p in parts]
    return []
