"""What code asserts of its arrays, which is taken to hold."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.bodies.choosing import Choosing
from mlax_scaffold.conversion.shapes.values import Array, Number, Several, Shape
from mlax_scaffold.conversion.source.trees import literal
from mlax_scaffold.conversion.source.walking import cloned


class Asserting(Choosing):
    """Reads it."""

    def _demanded(self, node: ast.If) -> ast.Assert | None:
        """What `if a.shape[-1] != size: raise ValueError(...)` asserts; None for another condition."""
        match node:
            case ast.If(
                test=ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]),
                body=[ast.Raise(exc=ast.Call(args=[text, *_]))],
                orelse=[],
            ):
                sides = [self.value(cloned(side))[1] for side in (left, right)]
                if all(isinstance(side, Number) for side in sides):
                    return ast.Assert(ast.Compare(left, [ast.Eq()], [right]), text)
        return None

    def _asserted(self, test: ast.expr) -> ast.expr:
        """What holds: sizes that are said to be the same are."""
        match test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                self._numbered(left, right)
                self._shape_told(left, right)
                made, one = self.value(left)
                other_made, other = self.value(right)
                if isinstance(one, Number) and isinstance(other, Number):
                    self.symbols.equal(one.value, other.value)
                if isinstance(one, Shape) and isinstance(other, Several):
                    self._shaped(one, other)
                return ast.Compare(made, [ast.Eq()], [other_made])
        return self.value(test)[0]

    def _numbered(self, left: ast.expr, right: ast.expr) -> None:
        """Take an array to have as many axes as is said: `x.ndim == 3`, `len(x.shape) == 3`."""
        match left:
            case ast.Attribute(value=ast.Name(id=local), attr="ndim"):
                pass
            case ast.Call(
                func=ast.Name(id="len"),
                args=[ast.Attribute(value=ast.Name(id=local), attr="shape")],
            ):
                pass
            case _:
                return
        array, count = self.env.get(local), literal(right)
        if isinstance(array, Array) and isinstance(count, int):
            hints = ("batch", "positions", "features", *["_"] * count)
            self.symbols.ranked(array, hints[:count])

    def _shape_told(self, left: ast.expr, right: ast.expr) -> None:
        """Take what nothing else tells of to have the shape that it is said to have."""
        match left:
            case ast.Attribute(value=ast.Name(id=local), attr="shape") if (
                self.env.get(local, left) is None
            ):
                _, told = self.value(cloned(right))
                items = told.items if isinstance(told, Several) else []
                sizes = [i.value for i in items if isinstance(i, Number)]
                if sizes and len(sizes) == len(items):
                    self.env[local] = Array(sizes, False)

    def _shaped(self, shape: Shape, sizes: Several) -> None:
        """Take an array to have the shape that it is said to have."""
        if shape.start is not None or shape.stop not in (None, -1):
            return
        hints = ["_"] * len(sizes.items) + ["features"] * (shape.stop == -1)
        if self.symbols.ranked(shape.array, hints):
            for axis, size in zip(shape.array.axes, sizes.items, strict=False):
                if isinstance(size, Number):
                    self.symbols.equal(axis, size.value)
