"""Parts of arrays and shapes: indices, slices and new axes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlax_scaffold.conversion.shapes.chosen_rows import chosen_rows
from mlax_scaffold.conversion.shapes.shape_functions import ShapeFunctions
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.slice_lengths import (
    is_of_keys,
    is_shift,
    is_whole,
    told_length,
)
from mlax_scaffold.conversion.shapes.values import (
    Array,
    Each,
    Number,
    Prefix,
    Record,
    Several,
    Shape,
    Value,
)
from mlax_scaffold.conversion.source.trees import expression, folded, literal
from mlax_scaffold.conversion.source.walking import walk

if TYPE_CHECKING:
    pass


class Indexing(ShapeFunctions):
    """Indices."""

    guesses: bool

    def _taken(self, array: Array, index: Value, node: ast.Call) -> Value:
        """Elements along one of the last axes, as many as there are indices."""
        at = next((literal(k.value) for k in node.keywords if k.arg == "axis"), None)
        if not isinstance(index, Array) or index.lead or len(index.axes) != 1:
            return None
        if not isinstance(at, int) or at >= 0 or self.symbols.axis(array, at) is None:
            return None
        axes = list(array.axes)
        axes[at] = index.axes[0]
        return array.like(axes)

    def beside(self, array: Value, index: Array, node: ast.Call) -> None:
        """Indices along an axis have the other axes of what they choose from."""
        at = next((literal(k.value) for k in node.keywords if k.arg == "axis"), None)
        if not isinstance(array, Array) or not isinstance(at, int):
            return
        inner, new = index.widened or (index, 0)
        if array.lead and at == new == -1 and len(array.tail) == 1 and inner.lead:
            # One for each example, whatever stands before its features.
            inner.prefix = index.prefix = array.prefix
        if array.lead and at >= 0 and index.axes and not index.lead:
            # They have as many axes as what they choose from.
            self.symbols.ranked(array, ("batch", *["_"] * (len(index.axes) - 1)))
        if array.lead or not self.symbols.ranked(index, ["_"] * len(array.axes)):
            return
        for place, (mine, axis) in enumerate(zip(index.axes, array.axes, strict=True)):
            beside = place != at % len(array.axes)
            if beside and literal(axis) != 1 and literal(mine) != 1:
                self.symbols.equal(mine, axis)

    def chosen_along(self, array: Value, index: Value, node: ast.Call) -> Value:
        """What indices choose along an axis; those of one row, `index[..., None]`, choose whole rows."""
        at = next((literal(k.value) for k in node.keywords if k.arg == "axis"), None)
        told = index if isinstance(index, Array) and not index.lead else None
        if isinstance(array, Array) and not array.lead and isinstance(at, int):
            axes, mine = list(array.axes), told.axes if told is not None else None
            if mine is None and -len(axes) <= at < len(axes):
                # Beside that axis they have one row, or as many as the array.
                axes[at] = self.symbols.fresh("chosen")
                return array.like(axes)
            if mine is not None and len(mine) == len(axes) > at >= -len(axes):
                pairs = zip(mine, axes, strict=True)
                broadcast = [a if literal(i) == 1 else i for i, a in pairs]
                broadcast[at] = mine[at]
                return array.like(broadcast)
        if not isinstance(index, Array):
            return None
        kind = array.kind if isinstance(array, Array) else "Float"
        return index.like(index.axes, kind)

    def item(self, value: Value, index_node: ast.expr, index: Value) -> Value:
        """An element or a part of a value."""
        at = literal(index_node)
        if isinstance(value, Shape):
            if isinstance(at, int) and value.start is None and value.stop is None:
                value.array.asked = max(value.array.asked, at)
                value.array.asked_early |= value.array.lead
                early = value.array.of_step or (at > 0 and self.guesses)
                if value.array.lead and early and at >= 0:
                    # Most inputs with such an axis are batches of sequences.
                    rank = max(at + 1, value.array.usual)
                    self.symbols.ranked(
                        value.array, ("batch", "positions", "features", "_")[:rank]
                    )
                axis = self.symbols.axis(value.array, at)
                return Number(axis) if axis is not None else None
            if isinstance(index_node, ast.Slice) and index_node.step is None:
                low = literal(index_node.lower) if index_node.lower else None
                high = literal(index_node.upper) if index_node.upper else None
                if low in (None, 0) or isinstance(low, int):
                    high = high if isinstance(high, int) else None
                    return Shape(
                        value.array, low if isinstance(low, int) else None, high
                    )
            return None
        if isinstance(value, Several):
            if isinstance(at, int) and -len(value.items) <= at < len(value.items):
                return value.items[at]
            if isinstance(index_node, ast.Slice):
                ends = (index_node.lower, index_node.upper, index_node.step)
                told = [None if e is None else literal(e) for e in ends]
                if all(t is None or type(t) is int for t in told):
                    return Several(value.items[slice(*told)])  # type: ignore[misc]
            return None
        if isinstance(value, Record):
            return value.items.get(at) if isinstance(at, str | int) else None
        if isinstance(value, Each):
            if isinstance(index_node, ast.Slice):
                begins = index_node.lower is None or literal(index_node.lower) == 0
                return value if begins else Each(value.other, alike=value.alike)
            return value.first if at == 0 else value.other
        if isinstance(value, Number):
            return Number(ast.Subscript(value.value, index_node, ast.Load()))
        if isinstance(value, Array):
            rows = isinstance(index, Array) and index.kind == "Int" and not index.lead
            if rows and value.lead:
                self.symbols.ranked(value, ("batch", "features"))
            if rows and not value.lead and value.axes:
                assert isinstance(index, Array)
                return Array([*index.axes, *value.axes[1:]], False, value.kind)
            open_ = isinstance(index, Array) and index.kind == "Int" and index.lead
            if open_ and not value.lead and len(value.axes) == 2:
                # Rows of a table, as many as there are indices.
                assert isinstance(index, Array)
                looked = index.like([*index.axes, value.axes[1]], value.kind)
                looked.looked_up = index if not index.axes else None
                return looked
            chosen = chosen_rows(value, index_node, index)
            if chosen is not None:
                return chosen
            cut = isinstance(index_node, ast.Slice) and (
                index_node.lower is not None or index_node.upper is not None
            )
            one = self.vectors and self.single and len(value.axes) == 1
            if cut and one and value.lead:
                # The one axis of one example.
                self.symbols.ranked(value, ("features",))
            if value.lead and not value.axes and is_of_keys(index_node):
                # As long as the keys: what it is added to tells its axes.
                value.prefix.bare = max(value.prefix.bare, 4)
                return value
            counted = _counted(index_node, index)
            if isinstance(index_node, ast.Tuple) and self._is_whole(value, index_node):
                # Of one example, which others stand beside.
                counted = ast.Tuple([ast.Constant(...), *index_node.elts], ast.Load())
                index_node.elts.insert(0, ast.Constant(...))
            found = self._indexed(value, counted)
            if found is None and cut and self.examples and not value.axes:
                # Some of an example of which nothing else is known.
                found = Array([], True, value.kind)
                found.parts, found.cut = [value], True
            if found is None and value.lead and not value.axes and is_shift(index_node):
                # All but some steps of sequences of which nothing else is known.
                found = Array([], True, value.kind)
                found.parts, found.along, found.cut = [value], 1, True
            if isinstance(found, Array) and found is not value:
                found.source = found.source or value
            return found
        return None

    def _is_whole(self, array: Array, index: ast.Tuple) -> bool:
        """Whether all axes of one example are taken whole, with new ones: `x[:, None]`."""
        if not (self.examples and self.single) or array.lead:
            return False
        kept = [p for p in index.elts if not _new(p)]
        whole = [ast.unparse(p) == ":" for p in kept]
        axes = len(array.axes) - (1 if self.batched else 0)
        return all(whole) and len(whole) == axes < len(index.elts)

    def _indexed(self, array: Array, index: ast.expr) -> Value:
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if any(isinstance(p, ast.Constant) and p.value is ... for p in parts):
            at = next(
                i
                for i, p in enumerate(parts)
                if isinstance(p, ast.Constant) and p.value is ...
            )
            before, after = parts[:at], parts[at + 1 :]
            unknown = array.lead and not array.axes
            if unknown and not before and [_new(p) for p in after] == [True]:
                return array.with_axis(-1)
            for i in range(1, sum(not _new(p) for p in after) + 1):
                self.symbols.axis(array, -i)
            if not before and len(after) == 2 <= len(array.axes) and _picks(after):
                # Rows and columns of images.
                if array.lead and len(array.tail) < 2:
                    array.tail[:0], array.prefix = array.prefix.axes, Prefix()
                sides = [self.symbols.fresh(n) for n in ("height", "width")]
                return array.like([*array.axes[:-2], *sides])
            kept = len(array.axes) - sum(not _new(p) for p in after)
            if kept < 0:
                return None
            tail = self._sliced(array.axes[kept:], after)
            if tail is None:
                return None
            if array.lead:
                made = [*array.axes[:kept], *tail]
                return Array(made, True, array.kind) if before else array.like(made)
            head = self._sliced(array.axes[:kept], before)
            return (
                Array([*head, *tail], False, array.kind) if head is not None else None
            )
        if (
            array.kind == "Bool"
            and array.lead
            and not array.axes
            and _is_widened(parts)
        ):
            # `mask[:, None]`: of heads, beside whatever else the mask has.
            return array.with_axis(1)
        if array.lead and not self._counted(array, parts):
            return None
        if len(parts) == 2 and len(array.axes) > 1 and isinstance(parts[0], ast.Name):
            first, second = map(ast.unparse, parts)
            if first == second:
                # The diagonal: both axes are as long.
                self.symbols.equal(array.axes[0], array.axes[1])
        made = self._sliced(array.axes, parts)
        return Array(made, False, array.kind) if made is not None else None

    def _counted(self, array: Array, parts: Sequence[ast.expr]) -> bool:
        """Whether the indices say how many axes there are: `t[:, None]`, `logits[rows, rows]`."""
        old = [p for p in parts if not _new(p)]
        numbers = [p for p in old if not isinstance(p, ast.Slice | ast.Constant)]
        widened = len(array.axes) < len(old) < len(parts)
        if len(old) == len(parts) > 2 and not array.axes:
            widened = all(isinstance(p, ast.Slice) for p in parts)
        stepped = any(isinstance(p, ast.Slice) and p.step is not None for p in parts)
        if len(old) == len(parts) == 2 and not array.axes and stepped:
            # `x[:, ::2]`: every other column.
            names = ("batch", "features")
            return self.symbols.ranked(array, names)
        whole = all(isinstance(p, ast.Slice) and is_whole(p) for p in old)
        if self.examples and whole and _new(parts[0]) and len(old) == len(array.axes):
            # `query[None, :]`: of one example there are no other axes.
            return self.symbols.ranked(array, ["_"] * len(old))
        first = whole and [_new(p) for p in parts[:2]] == [False, True]
        if first and len(old) == len(array.axes) == 1 and not self.examples:
            # `scale[:, None]`: features of each example, beside those of several positions.
            return self.symbols.ranked(array, ("batch", "_"))
        if not self.vectors and not array.axes and _is_first_or_last(parts):
            # `hidden[:, 0]`: of each sequence that of one position.
            return self.symbols.ranked(array, ("batch", "positions", "features"))
        if _names_all(parts) and not array.axes:
            names = ("batch", *(f"axis{i}" for i in range(1, len(parts))))
            return self.symbols.ranked(array, names)
        if not widened and (len(numbers) < 2 or len(numbers) < len(parts)):
            return False
        names = ("batch", *(f"axis{i}" for i in range(1, len(old))))
        return bool(old) and self.symbols.ranked(array, names)

    def _sliced(
        self, axes: Sequence[ast.expr], parts: Sequence[ast.expr]
    ) -> list[ast.expr] | None:
        rest, made = list(axes), []
        for part in parts:
            if _new(part):
                made.append(ast.Constant(1))
                continue
            if not rest:
                return None
            axis = rest.pop(0)
            if isinstance(part, ast.Slice):
                last = not rest and part is parts[-1]
                told = told_length(axis, part) if last else None
                made.append(told or self._length(axis, part))
                continue
            count = self.symbols.passes.get(getattr(part, "counts", ""))
            if count is not None and is_symbol(self.symbols.find(axis)):
                # A loop goes along it.
                self.symbols.equal(axis, count)
            if not isinstance(literal(part), int):
                return None
        return [*made, *rest]

    def _length(self, axis: ast.expr, part: ast.Slice) -> ast.expr:
        low = literal(part.lower) if part.lower is not None else 0
        if part.lower is None and part.upper is None and part.step is None:
            return axis
        if low == 0 and part.upper is not None and isinstance(literal(part.upper), int):
            upper = literal(part.upper)
            assert isinstance(upper, int)
            if upper >= 0 and part.step is None:
                return ast.Constant(upper)
            if part.step is None:
                return folded(expression("a - b", a=axis, b=ast.Constant(-upper)))
        if (
            part.upper is None
            and part.step is None
            and isinstance(low, int)
            and low > 0
        ):
            return folded(expression("a - b", a=axis, b=ast.Constant(low)))
        step = literal(part.step) if part.step is not None else None
        if isinstance(step, int) and step > 1 and low in (0, 1) and part.upper is None:
            return self._every(axis, step, low)
        return self.symbols.fresh("_")

    def _every(self, axis: ast.expr, step: int, low: int) -> ast.expr:
        """The length of `x[::2]` or `x[1::2]`; the first one has the last place of an odd number, too."""
        known = literal(axis)
        if isinstance(known, int):
            return ast.Constant(len(range(low, known, step)))
        parts = folded(expression("a // b", a=axis, b=ast.Constant(step)))
        whole = not any(isinstance(n, ast.FloorDiv) for n in walk(parts))
        if whole or (low == 1 and step == 2):
            return parts
        # What it is put together with tells whether the number is even.
        length, more = self.symbols.fresh("_"), ast.Constant(step - 1 - low)
        told = expression("(a + c) // b", a=axis, b=ast.Constant(step), c=more)
        self.symbols.halves.append((length, told))
        return length


def _names_all(parts: Sequence[ast.expr]) -> bool:
    """Whether indices stand for all axes, as in `x[0, :]`: who writes the last one has no other."""
    last = parts[-1] if parts else None
    whole = isinstance(last, ast.Slice) and not (last.lower or last.upper or last.step)
    return whole and any(isinstance(literal(p), int) for p in parts)


def _picks(parts: Sequence[ast.expr]) -> bool:
    """Whether both indices are computed of numbers along an axis."""
    return all("arange" in ast.unparse(part) for part in parts)


def _counted(node: ast.expr, index: Value) -> ast.expr:
    """An index in which one place stands for each number that a loop counts."""
    if isinstance(node, ast.Name):
        return _first(node) if isinstance(index, Number) else node
    if not isinstance(node, ast.Tuple) or not isinstance(index, Several):
        return node
    pairs = zip(node.elts, index.items, strict=True)
    counted = [isinstance(p, ast.Name) and isinstance(v, Number) for p, v in pairs]
    parts = [_first(p) if c else p for p, c in zip(node.elts, counted, strict=True)]
    return ast.Tuple(parts, ast.Load())


def _first(node: ast.expr) -> ast.Constant:
    """The first number that a name counts, with the name."""
    made = ast.Constant(0)
    made.counts = getattr(node, "id", "")  # type: ignore[attr-defined]
    return made


def _is_widened(parts: Sequence[ast.expr]) -> bool:
    """Whether an axis is put in after the first one, and nothing is said of others."""
    return (
        len(parts) == 2
        and isinstance(parts[0], ast.Slice)
        and parts[0].lower is None
        and parts[0].upper is None
        and _new(parts[1])
    )


def _is_first_or_last(parts: Sequence[ast.expr]) -> bool:
    match parts:
        case [ast.Slice(lower=None, upper=None, step=None), place]:
            return literal(place) in (0, -1)
    return False


def _new(part: ast.expr) -> bool:
    if isinstance(part, ast.Constant):
        return part.value is None
    return isinstance(part, ast.Attribute) and part.attr == "newaxis"
