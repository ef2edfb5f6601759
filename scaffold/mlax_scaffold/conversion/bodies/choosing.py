"""Values that branches choose, and what a method returns that does so in several places."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from mlax_scaffold.conversion.bodies.looping import Looping
from mlax_scaffold.conversion.shapes.chosen_sizes import chosen_size, compares_sizes
from mlax_scaffold.conversion.shapes.sizes import is_symbol
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import literal, same


class Choosing(Looping):
    """Reads them."""

    def _one_of(self, found: Sequence[Value]) -> Value:
        """What a method returns that does so in several places."""
        last = found[-1]
        arrays = [v for v in found if isinstance(v, Array)]
        if not isinstance(last, Array) or len(arrays) != len(found) or last.lead:
            return last
        if any(v.lead or len(v.axes) != len(last.axes) for v in arrays):
            return last
        under = self.under.get(id(found[0])) if len(found) == 2 else None
        if under is not None and literal(under) is not None:
            return self._after_branches(under, *arrays)
        axes = list(last.axes)
        for i, axis in enumerate(axes):
            known = self.symbols.find(axis)
            if not all(same(self.symbols.find(v.axes[i]), known) for v in arrays):
                axes[i] = self.symbols.fresh("_")
        return last if axes == last.axes else last.like(axes)

    def _after_branches(
        self, condition: ast.expr | None, value: Value, other: Value
    ) -> Value:
        """A value that is one where a condition on hyperparameters holds, and another one elsewhere."""
        if condition is None or value is other:
            return value
        if compares_sizes(condition):
            # That says by itself which of them are the same.
            return value
        if not isinstance(value, Array) or not isinstance(other, Array):
            return value
        if len(value.axes) != len(other.axes):
            return value
        axes = list(value.axes)
        for place, pair in enumerate(zip(value.axes, other.axes, strict=True)):
            a, b = (self.symbols.find(axis) for axis in pair)
            if same(a, b):
                continue
            chosen = chosen_size(copy.deepcopy(condition), a, b)
            open_ = any(is_symbol(n) for s in (a, b) for n in ast.walk(s))
            if not open_ or not isinstance(chosen, ast.IfExp):
                axes[place] = chosen
        return value if axes == value.axes else value.like(axes)
