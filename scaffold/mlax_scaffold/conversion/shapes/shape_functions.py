"""What functions of arrays make of shapes: reductions, orders and parts."""

from __future__ import annotations

import ast
from itertools import pairwise

from mlax_scaffold.conversion.shapes.einstein_sums import summed
from mlax_scaffold.conversion.shapes.joints import Joints
from mlax_scaffold.conversion.shapes.places import axes_reordered, difference
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.values import Array, Each, Number, Several, Value
from mlax_scaffold.conversion.source.trees import expression, folded, literal, names


class ShapeFunctions(Joints):
    """Functions by what they do to axes."""

    divides: bool
    channel_last: bool
    sequences: bool
    examples: bool
    batched: bool

    def _along(self, array: Array, node: ast.Call) -> None:
        """An axis that something is computed along is there."""
        axis = next((literal(k.value) for k in node.keywords if k.arg == "axis"), None)
        if isinstance(axis, int) and axis < 0:
            self.symbols.axis(array, axis)

    def transposed(self, array: Array, *, whole: bool) -> Value:
        """The array with its axes in reversed order, or with its last two exchanged."""
        if whole and array.lead and len(array.axes) < 3:
            self.symbols.ranked(array, ("rows", "features"))
        if whole and array.lead:
            return None
        if whole:
            return Array(array.axes[::-1], False, array.kind)
        if self.symbols.axis(array, -2) is None:
            return None
        axes = list(array.axes)
        return array.like([*axes[:-2], axes[-1], axes[-2]])

    def _reduced(self, array: Array, node: ast.Call, place: int) -> Value:
        axis = self._axis(node, place)
        keep = any(
            k.arg == "keepdims" and literal(k.value) is True for k in node.keywords
        )
        if axis is None:
            if array.lead and array.axes and self.single and self.examples:
                # All that there is of one example.
                self.symbols.ranked(array, ["features"] * len(array.axes))
            kept = [ast.Constant(1) for _ in array.axes]
            return Array(list(kept) if keep and not array.lead else [], False)
        axes = axis if isinstance(axis, tuple | list) else (axis,)
        axes = [a for a in axes if isinstance(a, int)]
        if not axes:
            return None
        if array.lead:
            if axes == [1, 2] and self.channel_last and not (keep and self.sequences):
                # Those of an image, before its channels.
                image = ("batch", "height", "width", "channels")
                self.symbols.ranked(array, image)
            elif self.single and self.examples and set(axes) in ({1, 2}, {-1, -2}):
                # Those of one image, after its channels.
                batch = ["batch"] if self.batched else []
                self.symbols.ranked(array, [*batch, "channels", "height", "width"])
            elif axes == [2, 3]:
                image = ("batch", "channels", "height", "width")
                self.symbols.ranked(array, image)
            elif (
                axes == [1]
                and len(array.axes) == 1
                and (array.prefix.some or (self.channel_last and not keep))
            ):
                # Those of sequences, whose positions a mask selects, or that are pooled.
                self.symbols.ranked(array, ("batch", "positions", "features"))
        if array.lead and self.examples and self.single and axes == [0]:
            # The one axis of one example; along the first of several where none is known.
            known = ["features"] * len(array.axes)
            self.symbols.ranked(array, known or ("items", "features"))
        if array.lead and self.vectors and not self.single and axes == [0]:
            # What is mapped over is the one axis before those of an example.
            kept = ["_"] * len(array.axes) or ["features"]
            self.symbols.ranked(array, ("items", *kept))
        if array.lead:
            if any(a >= 0 for a in axes):
                if array.tail and max(axes) > 0:
                    array.has_axis(max(axes))
                return None
            for a in axes:
                self.symbols.axis(array, a)
        count = len(array.axes)
        if any(not -count <= a < count for a in axes):
            return None
        chosen = {a % count for a in axes}
        made = [
            ast.Constant(1) if i in chosen else a
            for i, a in enumerate(array.axes)
            if keep or i not in chosen
        ]
        return array.like(list(made))

    def segments(self, data: Value, ids: Value, count: Value) -> Array | None:
        """What is reduced by numbers of segments, along the first axis."""
        if isinstance(ids, Array):
            ids.kind = "Int"
            self.symbols.ranked(ids, ("items",))
        if not isinstance(data, Array) or data.lead:
            return data if isinstance(data, Array) else None
        if isinstance(ids, Array) and not ids.lead:
            self.symbols.equal(ids.axes[0], data.axes[0])
        size = count.value if isinstance(count, Number) else self.symbols.fresh("_")
        return Array([size, *data.axes[1:]], False)

    def _named(
        self, name: str, array: Array, node: ast.Call, given: list[Value]
    ) -> Value:
        args = node.args if len(node.args) == len(given) else node.args[1:]
        numbers = [literal(a) for a in args]
        if (
            name == "swapaxes"
            and len(numbers) == 2
            and all(isinstance(n, int) for n in numbers)
        ):
            a, b = int(numbers[0]), int(numbers[1])  # type: ignore[arg-type]
            if array.lead and {a, b} == {1, 2}:
                # Positions and features, where heads are nothing that is known of.
                self.symbols.ranked(array, ("batch", "positions", "features"))
            if array.lead and 0 < min(a, b) < max(a, b) == 3:
                self.symbols.ranked(array, ("batch", "channels", "height", "width"))
            if array.lead and {a, b} == {0, 1} and len(array.axes) < 3:
                # Sequences, which a scan goes over by time.
                hints = ("batch", "time", "features")
                self.symbols.ranked(array, hints[: 3 if array.kind == "Float" else 2])
            if array.lead:
                if a >= 0 or b >= 0:
                    return None
                self.symbols.axis(array, min(a, b))
            axes = list(array.axes)
            if not all(-len(axes) <= i < len(axes) for i in (a, b)):
                return None
            axes[a], axes[b] = axes[b], axes[a]
            return array.exchanged(axes)
        if name == "moveaxis" and not array.lead and len(numbers) == 2:
            axes, places = list(array.axes), range(-len(array.axes), len(array.axes))
            ends = [n for n in numbers if isinstance(n, int) and n in places]
            if len(ends) == 2:
                moved = axes.pop(ends[0])
                axes.insert(ends[1] % len(array.axes), moved)
                return array.exchanged(axes)
        if name == "moveaxis" and numbers == [1, -1]:
            return array.with_second_last()
        if name == "transpose":
            if not numbers:
                back = array.axes[::-1]
                return None if array.lead else Array(back, False, array.kind)
            order = numbers[0] if len(numbers) == 1 else tuple(numbers)
            if isinstance(order, tuple | list):
                order = [i for i in order if isinstance(i, int)]
                if array.lead and not self.symbols.ranked(array, axes_reordered(order)):
                    return None
                if len(order) == len(array.axes):
                    return Array([array.axes[i] for i in order], False, array.kind)
        return None

    def _joined(self, node: ast.Call, each: Each, *, new: bool) -> Value:
        """As many arrays as there are in a list, joined along an axis or a new one."""
        axis = self._axis(node, 1)
        axis = 0 if axis is None else axis
        first = each.first
        if isinstance(first, Array) and axis == each.along and not new:
            return first
        if not isinstance(first, Array) or not isinstance(axis, int) or first.lead:
            return None
        axes, count = list(first.axes), len(first.axes) + new
        if not -count <= axis < count:
            return None
        if new:
            axes.insert(axis % count, self.symbols.fresh("_"))
        else:
            axes[axis] = self.symbols.fresh("_")
        return first.like(axes)

    def _tiled(self, array: Array, times: Value) -> Value:
        """An array that is repeated along each of its axes."""
        items = times.items if isinstance(times, Several) else []
        if array.lead and len(items) > 1:
            self.symbols.ranked(array, ("batch", *["_"] * (len(items) - 1)))
        if array.lead or len(items) != len(array.axes):
            return None
        axes: list[ast.expr] = []
        for axis, number in zip(array.axes, items, strict=True):
            if not isinstance(number, Number):
                axes.append(self.symbols.fresh("_"))
                continue
            size = self.symbols.find(axis)
            if literal(size) == 1 or literal(number.value) == 1:
                axes.append(size if literal(number.value) == 1 else number.value)
            else:
                axes.append(folded(expression("n * a", n=number.value, a=size)))
        made = array.like(axes)
        # What it holds, indices for example, the array holds, too.
        made.source = array
        return made

    def _split(self, array: Array, node: ast.Call, values: list[Value]) -> Value:
        at = next((literal(k.value) for k in node.keywords if k.arg == "axis"), None)
        if isinstance(at, int) and at > 0 and array.lead and len(array.tail) == 1:
            # Whose parts these are is the last axis where nothing tells of others.
            self.symbols.ranked(array, ("batch", *["_"] * at))
        axis = self._axis(node, 2)
        axis = 0 if axis is None else axis
        if isinstance(axis, int) and axis > 0 and array.lead and not array.axes:
            array.prefix.bare = max(array.prefix.bare, axis + 1)
        if (
            axis == 0
            and self.vectors
            and self.single
            and array.lead
            and len(array.axes) == 1
        ):
            # The one axis of one example.
            self.symbols.ranked(array, ("features",))
        given = node.args[1] if len(node.args) > 1 else None
        for keyword in node.keywords:
            if keyword.arg == "indices_or_sections":
                given = keyword.value
        if isinstance(given, ast.List | ast.Tuple) and isinstance(axis, int):
            whole = getattr(node, "whole", None)
            if whole is not None and names(whole) - {"self", *self.symbols.constants}:
                # Locals of the body are nothing that a shape is told by.
                whole = None
            size = self.symbols.axis(array, axis) if whole is not None else None
            if size is not None and whole is not None:
                self.symbols.equal(size, whole)
            told = values[0].items if values and isinstance(values[0], Several) else []
            ends = [v.value for v in told if isinstance(v, Number)]
            elements = ends if len(ends) == len(given.elts) else given.elts
            return self._split_at(array, elements, axis)
        # As many as there are names for them, where the code divides by a size.
        parts = getattr(node, "parts", 0) or literal(given)
        if isinstance(axis, int) and given is not None and not isinstance(parts, int):
            return Each(array, alike=False, along=axis)
        if not isinstance(axis, int) or (array.lead and axis >= 0):
            return None
        size = self.symbols.axis(array, axis)
        if size is None or not isinstance(parts, int):
            return None
        if self.divides and is_symbol(self.symbols.find(size)):
            part = self.symbols.fresh("half" if parts == 2 else "part")
            known = expression("a * b", a=ast.Constant(parts), b=part)
            self.symbols.equal(size, known)
            size = self.symbols.find(size)
        share = folded(expression("a // b", a=size, b=ast.Constant(parts)))
        if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult):
            for one, other in ((size.left, size.right), (size.right, size.left)):
                if literal(one) == parts:
                    share = other
        axes = list(array.axes)
        axes[axis] = share
        return Several([array.like(list(axes)) for _ in range(parts)])

    def _split_at(self, array: Array, ends: list[ast.expr], axis: int) -> Value:
        """The parts between places along an axis."""
        if array.lead and axis >= 0:
            return None
        size = self.symbols.axis(array, axis)
        if size is None:
            return None
        places = [ast.Constant(0), *ends, self.symbols.find(size)]
        parts: list[Value] = []
        for start, end in pairwise(places):
            axes = list(array.axes)
            axes[axis] = difference(end, start)
            parts.append(array.like(axes))
        return Several(parts)

    def _expanded(self, array: Array, axis: object) -> Value:
        widened = array.widened
        if widened is not None and isinstance(axis, int) and axis == widened[1] + 1 > 2:
            # New axes behind all others: `a.unsqueeze(2).unsqueeze(3)`.
            self.symbols.ranked(array, ("batch", "channels", "", "")[:axis])
        if isinstance(axis, int) and array.lead and not array.axes:
            return array.with_axis(axis)
        if isinstance(axis, int) and array.lead and axis >= 0:
            return array.with_axis(axis)
        if not isinstance(axis, int):
            return None
        axes = list(array.axes)
        if axis < 0:
            for i in range(1, -axis):
                self.symbols.axis(array, -i)
            axes = list(array.axes)
        axes.insert(len(axes) + axis + 1 if axis < 0 else axis, ast.Constant(1))
        made = array.like(axes)
        made.source = array
        return made

    def in_heads(self, array: Array, sizes: list[ast.expr | None]) -> bool:
        """Whether features of sequences are divided: `x.view(x.size(0), -1, heads, features // heads)`."""
        found = array.lead and len(array.axes) <= 1 and sizes[0] is None
        if found := found and len(sizes) == 4 and all(sizes[2:]):
            self.symbols.ranked(array, ("batch", "positions", "features"))
            sizes[:2] = array.axes[:2]
        return found

    def _squeezed(self, array: Array, node: ast.Call) -> Value:
        axis = self._axis(node, 1)
        if not isinstance(axis, int):
            return None
        if array.lead and axis == 2 and [literal(a) for a in array.axes] == [1]:
            # The last axis, which a layer of one feature made.
            self.symbols.ranked(array, ("batch", "positions", "features"))
        if array.lead and axis >= 0:
            return None
        if self.symbols.axis(array, axis) is None:
            return None
        axes = list(array.axes)
        axes.pop(axis)
        return array.like(axes)

    def _unstacked(self, array: Array, node: ast.Call) -> Value:
        """The arrays along an axis whose size is known."""
        axis = self._axis(node, 1)
        if not isinstance(axis, int) or (array.lead and axis >= 0):
            return None
        size = self.symbols.axis(array, axis)
        count = literal(self.symbols.find(size)) if size is not None else None
        if type(count) is not int or not 0 < count < 10:
            return None
        axes = list(array.axes)
        axes.pop(axis)
        return Several([array.like(list(axes)) for _ in range(count)])

    def _einsum(self, node: ast.Call, given: list[Value]) -> Value:
        text = literal(node.args[0]) if node.args else None
        return summed(self.symbols, text, given)
