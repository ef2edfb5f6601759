"""Sizes of inputs that a branch changes, and that are the same where it does not run."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.shapes.annotations import flattened
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Value
from mlax_scaffold.conversion.source.walking import walk


def with_branch_sizes(symbols: Symbols, values: Iterable[Value]) -> None:
    """Take an axis of an input to be as large as what a branch makes of it, where nothing else tells it.

    `if self.proj is not None: x = self.proj(x)` is followed by what takes either.
    """
    given = {
        axis.id
        for array in flattened(values)
        for axis in map(symbols.find, array.axes)
        if isinstance(axis, ast.Name) and is_symbol(axis)
    }
    for pair in symbols.left:
        made, own = map(symbols.find, pair)
        if not isinstance(own, ast.Name) or own.id not in given:
            continue
        if not any(is_symbol(part) for part in walk(made)):
            symbols.equal(own, made)
            # What is joined with it is as large as what is left.
            asked, symbols.demands = symbols.demands, []
            for one, other in asked:
                symbols.equal(one, other)
