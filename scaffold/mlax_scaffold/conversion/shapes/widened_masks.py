"""Arrays with new axes beside others of more axes: `where(mask[:, None, None], logits, -1e9)`.

What is written so is aligned with them, from the first axis on: of five axes, a mask with two new ones has
three itself. Of channels before two others, `scale[:, None, None] * image`, nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import is_none


def is_widened(node: ast.expr) -> bool:
    """Whether an expression is an array by name, whole, with new axes behind its first one."""
    return isinstance(node, ast.Subscript) and _new_axes(node) > 0


def is_mask_of_heads(node: ast.expr) -> bool:
    """Whether one new axis stands behind the first one, `mask[:, None]`."""
    return isinstance(node, ast.Subscript) and _new_axes(node) == 1


def align_widened(
    symbols: Symbols,
    node: ast.expr,
    array: Value,
    beside: Sequence[Value],
    least: int,
) -> None:
    """Take an array of which nothing is known to have the axes that are not new, beside what is known.

    Args:
        symbols: the sizes.
        node: the array with its new axes.
        array: what is known of the array itself.
        beside: what it is combined with.
        least: how many axes more than is written that has at least.
    """
    if isinstance(array, Array) and array.kind == "Bool" and is_mask_of_heads(node):
        # It is broadcast to what stands beside it.
        return
    known = [v for v in beside if isinstance(v, Array) and not v.lead]
    if not isinstance(array, Array) or not known or not isinstance(node, ast.Subscript):
        return
    if not array.lead or array.axes or array.widened is not None:
        return
    most = max(known, key=lambda other: len(other.axes))
    written = len(getattr(node.slice, "elts", ()))
    rank = len(most.axes) - _new_axes(node)
    if len(most.axes) < written + least or rank < 1:
        return
    symbols.ranked(array, ["batch", *["_"] * (rank - 1)])
    new = len(most.axes) - rank
    symbols.equal(array.axes[0], most.axes[0])
    for mine, axis in zip(array.axes[1:], most.axes[1 + new :], strict=True):
        symbols.equal(mine, axis)


def _new_axes(node: ast.Subscript) -> int:
    """How many axes are new, where one is whole before them and nothing else is said; else none."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    if not isinstance(node.value, ast.Name) or not parts:
        return 0
    first, *rest = parts
    whole = isinstance(first, ast.Slice) and ast.unparse(first) == ":"
    new = [is_none(p) or ast.unparse(p).endswith("newaxis") for p in rest]
    return len(rest) if whole and rest and all(new) else 0
