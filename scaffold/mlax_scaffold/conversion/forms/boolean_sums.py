"""Sums and means of masks, which the words for these take as numbers."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import expression

_WORDS = ("@word:sum", "@word:mean")


def of_numbers(node: ast.Call, given: list[Value], first: str) -> ast.Call:
    """A call in which a mask that is summed is one of numbers, in the dtype of an input.

    Args:
        node: the call.
        given: what is known of its arguments.
        first: the name of the input.
    """
    if not isinstance(node.func, ast.Name) or node.func.id not in _WORDS:
        return node
    value = given[0] if given else None
    mask = isinstance(value, Array) and value.kind == "Bool"
    if mask or (node.args and isinstance(node.args[0], ast.Compare)):
        cast = expression(f"m.astype({first}.dtype)", m=node.args[0])
        node.args = [ast.copy_location(cast, node), *node.args[1:]]
    return node
