"""Inputs that are as large as the array that a constructor tries its layers with."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value


def with_tried_sizes(
    symbols: Symbols, env: Mapping[str, Value], shape: tuple[int, ...]
) -> None:
    """Give the axes of the first input the sizes that the others of the class were computed with."""
    first = next(iter(env.values()), None)
    if not isinstance(first, Array) or first.lead or len(first.axes) != len(shape):
        return
    for axis, size in zip(first.axes[1:], shape[1:], strict=True):
        if is_symbol(symbols.find(axis)):
            symbols.equal(axis, ast.Constant(size))
