"""Shapes of arrays that become longer: padded, repeated, broadcast."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.indexing import Indexing
from mlax_scaffold.conversion.shapes.values import Array, Number, Several, Shape, Value
from mlax_scaffold.conversion.source.trees import expression, folded, literal


class Growing(Indexing):
    """Results of operations after which axes are longer."""

    def padded(self, array: Array, widths: ast.expr) -> Value:
        """Last axes that grow, after those that stay as they are."""
        match widths:
            case ast.BinOp(
                left=ast.BinOp(left=ast.List(elts=[still])), right=ast.List(elts=grown)
            ) if literal(still) == (0, 0):
                pass
            case ast.Tuple(elts=grown) | ast.List(elts=grown) if len(grown) > 1 and any(
                isinstance(pair, ast.Tuple | ast.List) for pair in grown
            ):
                # There is a pair for each axis, of which some may have names.
                hints = ("batch", "time", "features", *["_"] * len(grown))
                if len(grown) == 4 and self.channel_last:
                    hints = ("batch", "height", "width", "channels")
                if not self.symbols.ranked(array, hints[: len(grown)]):
                    return None
            case _:
                return None
        along = literal(grown[-1]) == (0, 0)  # Steps of sequences, or rows of images.
        if array.lead and len(array.axes) < 3 and len(grown) in (2, 3) and not along:
            # Borders of images, mostly, behind their channels.
            hints = ("batch", "channels", "height", "width", "depth")
            self.symbols.ranked(array, hints[: len(grown) + 2])
        if self.symbols.axis(array, -len(grown), "time") is None:
            return None
        axes = list(array.axes)
        for i, pair in enumerate(grown, len(axes) - len(grown)):
            match literal(pair):
                case (int(first), int(last)):
                    size = expression("a + n", a=axes[i], n=ast.Constant(first + last))
                    axes[i] = folded(size)
                case _:
                    axes[i] = self.symbols.fresh("_")
        return array.like(axes)

    def broadcast(self, array: Array, shape: Value) -> Value:
        """An array of the shape that is told, as far as it is."""
        if isinstance(shape, Shape) and not shape.array.lead and shape.start is None:
            if not array.lead and len(array.axes) == len(shape.array.axes):
                self.symbols.together(shape.array, array)
            return array.like(list(shape.array.axes))
        if isinstance(shape, Shape) and shape.start is None and not array.lead:
            # `a[:, :, None, None].expand_as(x)`, of which x has as many axes.
            hints = ("batch", "channels", "height", "width", "depth")
            if shape.stop is None and len(array.axes) > 1:
                self.symbols.ranked(shape.array, hints[: len(array.axes)])
                return self.symbols.together(shape.array, array)
        if not isinstance(shape, Several):
            return None
        sizes = [literal(i.value) for i in shape.items if isinstance(i, Number)]
        if sizes == [1] and len(shape.items) == 1:
            # A number, such as the time of a vector field.
            self.symbols.ranked(array, ())
        axes = [
            i.value if isinstance(i, Number) else self.symbols.fresh("_")
            for i in shape.items
        ]
        return Array(axes, False, array.kind)

    def repeated(self, array: Array, node: ast.Call, count: Value) -> Value:
        """Each element of an axis several times."""
        given = next((k.value for k in node.keywords if k.arg == "axis"), None)
        if given is None and len(node.args) > 2:
            given = node.args[2]
        at = literal(given)
        if not isinstance(at, int) or not isinstance(count, Number):
            return None
        axis = self.symbols.axis(array, at)
        if axis is None:
            return None
        axes = list(array.axes)
        axes[at] = folded(expression("a * b", a=axis, b=count.value))
        return array.like(axes)

    def counted(self, node: ast.Call, given: list[Value]) -> Value:
        """The numbers below a size: as many as that."""
        if len(given) == 2 and literal(node.args[0]) == 0:
            given = given[1:]
        match given:
            case [Number(value=first), Number(value=last)] if not any(
                isinstance(literal(a), float) for a in node.args
            ):
                given = [Number(folded(expression("b - a", a=first, b=last)))]
            case [Number(value=first), Number(value=last), _]:
                number = _stepped(first, last, literal(node.args[2]))
                given = given if number is None else [Number(number)]
        text = ast.unparse(node.args[0]) if len(given) == 1 and node.args else ""
        counted = text.startswith("len(") or text.endswith(".shape[0]")
        if given == [None] and counted:
            return Array([self.symbols.fresh("batch")], False, "Int")
        if len(given) != 1 or not isinstance(given[0], Number):
            return None
        floating = any(k.arg == "dtype" for k in node.keywords)
        return Array([given[0].value], False, "Float" if floating else "Int")


def _stepped(first: ast.expr, last: ast.expr, step: object) -> ast.expr | None:
    """How many numbers there are from one to another, in steps; None where that is not to be told."""
    if step == -1:
        return folded(expression("a - b", a=first, b=last))
    if type(step) is int and step > 1 and literal(first) == 0:
        return expression("n // s", n=last, s=ast.Constant(step))
    return None
