"""What arrays that are joined, or stacked, make of shapes."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Several, Value
from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    literal,
    self_attribute,
)


class Joints:
    """Functions that make one array of several."""

    symbols: Symbols
    vectors: bool
    single: bool

    def _axis(self, node: ast.Call, place: int) -> object:
        for keyword in node.keywords:
            if keyword.arg in ("axis", "axes"):
                return literal(keyword.value)
        return literal(node.args[place]) if len(node.args) > place else None

    def _concatenated(self, node: ast.Call, several: Several) -> Value:
        axis = self._axis(node, 1)
        axis = 0 if axis is None else axis
        listed = getattr(node.args[0], "elts", []) if node.args else []
        items = [
            value or (_of_numbers(listed[i]) if i < len(listed) else None)
            for i, value in enumerate(several.items)
        ]
        arrays = [i for i in items if isinstance(i, Array)]
        if len(arrays) != len(several.items) or not arrays or not isinstance(axis, int):
            return None
        ranks = {len(a.axes) for a in arrays if not a.lead}
        if axis == 0 and self.vectors and self.single and not ranks:
            for array in arrays:
                if len(array.axes) == 1:
                    # The one axis of one example.
                    self.symbols.ranked(array, ("features",))
        if len(ranks) == 1:
            for array in arrays:
                self.symbols.ranked(array, ["_"] * max(ranks))
        if any(a.lead for a in arrays) and axis >= 0:
            made = Array([], True, arrays[0].kind)
            made.parts, made.along = arrays, axis
            return made
        sizes = [self.symbols.axis(a, axis) for a in arrays]
        if any(s is None for s in sizes):
            return None
        known = [self.symbols.find(size) for size in sizes if size is not None]
        total = known[0]
        for size in known[1:]:
            total = folded(expression("a + b", a=total, b=size))
        if len({ast.unparse(size) for size in known}) == 1 and len(known) > 1:
            number = ast.Constant(len(known))
            total = folded(expression("n * a", n=number, a=known[0]))
        first = arrays[0]
        axes = list(first.axes)
        for other in arrays[1:]:
            for i in range(1, min(len(axes), len(other.axes)) + 1):
                if -i != axis and len(axes) - i != axis:
                    self.symbols.equal(axes[-i], other.axes[-i])
        if axis < 0:
            self.symbols.joined += [(first, other, axis) for other in arrays[1:]]
        axes[axis] = total
        made = first.like(axes)
        made.parts, made.along = arrays, axis
        return made

    def _stacked(self, node: ast.Call, several: Several) -> Value:
        axis, first = self._axis(node, 1), several.items[0]
        axis = 0 if axis is None else axis
        if not isinstance(first, Array) or not isinstance(axis, int):
            return None
        others = [i for i in several.items[1:] if isinstance(i, Array)]
        self.symbols.alike += [(first, other) for other in others]
        if first.lead and axis >= 0:
            return None
        axes = list(first.axes)
        axes.insert(
            len(axes) + axis + 1 if axis < 0 else axis, ast.Constant(len(several.items))
        )
        return first.like(axes)


def settle_ranks(symbols: Symbols) -> None:
    """Take arrays that are combined to have as many axes, where it is known of one of them."""
    symbols.settle_ranks()
    for a, b, at in symbols.joined:
        for one, other in ((a, b), (b, a)):
            if not one.lead or other.lead or len(other.axes) <= len(one.axes):
                continue
            symbols.ranked(one, ("batch", *["_"] * (len(other.axes) - 1)))
            pairs = zip(one.axes, other.axes, strict=True)
            for place, (mine, axis) in enumerate(pairs, -len(other.axes)):
                if place != at:
                    symbols.equal(mine, axis)


def _of_numbers(node: ast.expr) -> Array | None:
    """An array of numbers that stand where it is made, `jnp.array([self.first, 0])`."""
    match node:
        case ast.Call(func=func, args=[ast.List(elts=numbers), *_]):
            makes = ast.unparse(func).rpartition(".")[2] in ("array", "asarray")
            single = all(
                self_attribute(n) or isinstance(literal(n), int | float)
                for n in numbers
            )
            if makes and single and numbers:
                return Array([ast.Constant(len(numbers))], False)
    return None
