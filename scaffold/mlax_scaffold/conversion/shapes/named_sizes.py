"""Sizes that `setup` gives names to, in the shapes of arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import replaced


def with_values(
    symbols: Symbols, values: Mapping[str, ast.expr], arrays: Iterable[Value]
) -> None:
    """Write in sizes what these names stand for."""
    if not values:
        return
    symbols.known.update({k: replaced(v, values) for k, v in symbols.known.items()})
    given = [a for a in arrays if isinstance(a, Array)]
    for whole in given:
        for array in (whole, whole.against):
            if array is None:
                continue
            array.tail[:] = [replaced(a, values) for a in array.tail]
            array.prefix.axes[:] = [replaced(a, values) for a in array.prefix.axes]
