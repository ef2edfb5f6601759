"""Arrays that are given another shape, as far as it is told."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from mlax_scaffold.conversion.shapes.growing import Growing
from mlax_scaffold.conversion.shapes.size_equations import (
    is_symbol,
    product,
    same_product,
)
from mlax_scaffold.conversion.shapes.values import Array, Number, Shape, Value
from mlax_scaffold.conversion.source.trees import expression, folded, literal, same
from mlax_scaffold.conversion.source.walking import walk

_PLACES = ("height", "width", "depth", "time")


def _axes_of(value: Value) -> list[ast.expr]:
    """The sizes of a shape, where all are known."""
    if not isinstance(value, Shape) or value.array.lead:
        return []
    return value.array.axes[value.start : value.stop]


class Reshaping(Growing):
    """Results of `reshape`."""

    plain: Callable[[ast.expr], ast.expr]
    """A size by hyperparameters, where a class computes it of these."""

    def flat(self, array: Array) -> Value:
        """All axes of an array as one, where all are known."""
        if array.lead:
            return None
        return Array([product(array.axes)], False, array.kind)

    def reshaped(
        self, array: Array, nodes: Sequence[ast.expr], values: list[Value]
    ) -> Value:
        """An array of another shape; the one axis that is left open is what remains."""
        match values:
            case [Shape(array=other, start=None, stop=None)]:
                # `y.reshape(x.shape)`
                return other.like(other.axes, array.kind)
        sizes: list[ast.expr | None] = []
        whole_shape = nodes[0] if len(nodes) == 1 else None
        if isinstance(whole_shape, ast.Tuple | ast.List):
            nodes = whole_shape.elts if len(whole_shape.elts) == len(values) else nodes
        for node, value in zip(nodes, values, strict=False):
            if isinstance(node, ast.Starred):
                return self._starred(array, nodes, values)
            sizes.append(value.value if isinstance(value, Number) else None)
        if len(nodes) != len(values):
            for value in values[len(sizes) :]:
                sizes.append(value.value if isinstance(value, Number) else None)
        open_ = [
            i for i, s in enumerate(sizes) if s is not None and literal(folded(s)) == -1
        ]
        first = sizes[0] if sizes else None
        known = array.axes[:1] if not array.lead else []
        if first is not None and known and is_symbol(first) and is_symbol(known[0]):
            # What is given the examples of another array has as many.
            self.symbols.equal(known[0], first)
        self._as_vector(array, sizes)
        self._with_new_axes(array, sizes, open_)
        if open_ == [1] and self.in_heads(array, sizes):
            open_ = []
        self._divided(array, sizes, open_)
        places = nodes[0] if len(nodes) == 1 else None
        begins = places.elts if isinstance(places, ast.Tuple | ast.List) else nodes
        text = ast.unparse(begins[0]) if begins else ""
        if text.endswith(".shape[0]") and array.lead and array.axes and sizes[1:2]:
            size, second = sizes[1], self.symbols.find(array.axes[0])
            if size is not None and same(self.symbols.find(size), second):
                # `reshape(x.shape[0], n, heads, -1)`: the batch, and the axes that are known.
                self.symbols.ranked(array, ["batch", *["_"] * len(array.axes)])
                sizes[0] = sizes[0] or array.axes[0]
        whole = [s for s in sizes if s is not None and not is_symbol(s)]
        if (
            array.lead
            and len(array.axes) == 1
            and self.vectors
            and self.single
            and not open_
            and len(whole) == len(sizes) > 1
        ):
            # All of the one axis of one example.
            self.symbols.ranked(array, ["features"])
        flattens = open_ == [1] and len(sizes) == 2 and text.endswith(".shape[0]")
        mask = flattens and array.kind == "Bool"
        if mask and self.symbols.ranked(array, ("batch", "positions")):
            # Of positions, mostly, of which there may be a grid.
            return array
        if flattens and array.lead and not array.axes and not array.parts:
            array.at_least_one()
            array.flat = array.flat or self.symbols.fresh("features")
            return Array([self.symbols.fresh("batch"), array.flat], False, array.kind)
        if open_ == [0] or (text.endswith(".shape[0]") and not open_):
            self._unflattened(array, sizes)
        if open_ == [0] and len(sizes) == 2 and sizes[1] is not None and array.lead:
            # What all but the last axis are made one of.
            last = None if array.axes else self.symbols.axis(array, -1)
            if last is not None:
                self.symbols.equal(last, sizes[1])
        if len(open_) == 1 and not array.lead:
            left = [ast.unparse(self.symbols.find(a)) for a in array.axes]
            rest = list(array.axes)
            matched = True
            others = []
            for i, size in enumerate(sizes):
                if i == open_[0]:
                    continue
                taken = _taken(self.symbols.find(size), left) if size else None
                if taken is not None:
                    left = [t for j, t in enumerate(left) if j not in taken]
                    rest = [a for j, a in enumerate(rest) if j not in taken]
                elif size is not None:
                    others.append(size)
                else:
                    matched = False
            if matched and others and open_ == [0] and self._of_images(array):
                # `x.view(-1, 16 * 5 * 5)`: all of each image, which is as large as that asks for.
                self.symbols.demands.append((product(array.axes[1:]), product(others)))
                sizes[0] = array.axes[0]
            elif matched:
                size = product(rest)
                if others:
                    size = folded(expression("a // b", a=size, b=product(others)))
                sizes[open_[0]] = size
        elif open_:
            sizes[open_[0]] = None
        known = [s for s in sizes if s is not None]
        halved = any(isinstance(p, ast.FloorDiv) for s in known for p in walk(s))
        if halved and not open_ and not array.lead and len(known) == len(sizes):
            # `view(b, c, h // 2, 2, w // 2, 2)`: the image is one that two divides.
            self.symbols.demands.append((product(array.axes), product(known)))
        elif not open_ and not array.lead and len(known) == len(sizes):
            self._same_number(array.axes, known)
        made = [
            s if s is not None and literal(s) != -1 else self.symbols.fresh("_")
            for s in sizes
        ]
        other = Array(made, False, array.kind)
        other.source = array
        return other

    def _as_vector(self, array: Array, sizes: Sequence[ast.expr | None]) -> None:
        """Tell the size of the one axis that a vector keeps beside new ones: `weight.view(1, C, 1, 1)`."""
        if array.lead or len(array.axes) != 1:
            return
        others = [s for s in sizes if s is None or literal(self.symbols.find(s)) != 1]
        if len(others) == 1 and others[0] is not None and is_symbol(others[0]):
            self.symbols.equal(array.axes[0], others[0])

    def _same_number(self, axes: Sequence[ast.expr], sizes: Sequence[ast.expr]) -> None:
        """`y.reshape(b, n, heads, width)` of (b, n, heads * size): what is left of both is the same."""
        mine, theirs = (
            [f for one in side for f in _factors(self.symbols.find(one))]
            for side in (axes, sizes)
        )
        for factor in [*mine]:
            other = next((f for f in theirs if same(f, factor)), None)
            if other is not None:
                mine.remove(factor)
                theirs.remove(other)
        if len(mine) == len(theirs) == 1 and any(map(is_symbol, (*mine, *theirs))):
            self.symbols.equal(mine[0], theirs[0])
        for one, several in ((mine, theirs), (theirs, mine)):
            told = not any(is_symbol(n) for s in several for n in walk(s))
            if told and len(one) == 1 < len(several) and is_symbol(one[0]):
                # Positions that are places of hyperparameters, `x.reshape(b, height, width, c)`.
                self.symbols.equal(one[0], product(several))

    def _unflattened(self, array: Array, sizes: list[ast.expr | None]) -> None:
        """What all of each example is given the axes of, `x.view(-1, 4, 7, 7)`, has no others, mostly."""
        rest = [s for s in sizes[1:] if s is not None and not is_symbol(s)]
        bare = array.lead and not array.axes and not array.parts
        told = bare and len(rest) == len(sizes) - 1 > 1
        if told and self.symbols.ranked(array, ("batch", "features")):
            self.symbols.equal(array.axes[1], product(rest))
            sizes[0] = array.axes[0]

    def _of_images(self, array: Array) -> bool:
        """Whether the last axis of an array is one of places, behind those of channels."""
        hints = self.symbols.hints
        last = self.symbols.find(array.axes[-1])
        return len(array.axes) > 2 and any(
            isinstance(part, ast.Name) and hints.get(part.id) in _PLACES
            for part in walk(last)
        )

    def _with_new_axes(
        self, array: Array, sizes: list[ast.expr | None], open_: list[int]
    ) -> None:
        """New axes of one element beside those that an array has: `mask.view(batch, 1, length)`."""
        told = [s for s in sizes if s is None or literal(s) != 1]
        known = all(s is None or is_symbol(s) for s in told)
        if not array.lead or open_ or (not known and not array.axes):
            return
        if len(array.axes) == 1 and len(told) == 2 < len(sizes) and None not in told:
            # `style.view(batch, 1, channels, 1, 1)`: the features of each example.
            last = [*map(self.symbols.find, (told[1] or array.axes[0], array.axes[0]))]
            known = same(*last) or is_symbol(last[0])
        if len(array.axes) not in (0, len(told) - 1) or not known:
            return
        if len(told) < len(sizes) and any(told):
            self.symbols.ranked(array, ["_"] * len(told))
            for mine, size in zip(array.axes, told, strict=True):
                if size is not None:
                    self.symbols.equal(mine, size)

    def _divided(
        self, array: Array, sizes: list[ast.expr | None], open_: list[int]
    ) -> None:
        """Where the last axis alone is divided, `x.reshape(n, heads, dim)`, the array has as many others."""
        if not array.lead or len(array.axes) != 1 or len(sizes) < 3:
            return
        parts = [size for size in sizes[-2:] if size is not None]
        whole = product(parts) if len(parts) == 2 else None
        images = len(sizes) == 4 and sizes[0] is None and all(sizes[1:])
        if images and open_ == [3] and sizes[1] is not None and sizes[2] is not None:
            # The features of examples as those of the places of images.
            self.symbols.ranked(array, ("batch", "features"))
            sizes[0] = array.axes[0]
            return
        last = self.symbols.find(array.axes[0])
        if whole is not None and same_product(folded(whole), folded(last)):
            hints = ("batch", "positions")[: len(sizes) - 2]
            self.symbols.ranked(array, (*hints, *["_"] * (len(sizes) - 1 - len(hints))))
            for i, axis in enumerate(array.axes[:-1]):
                sizes[i] = axis

    def _starred(
        self, array: Array, nodes: Sequence[ast.expr], values: list[Value]
    ) -> Value:
        places = nodes[0].elts if isinstance(nodes[0], ast.Tuple) else nodes
        if not isinstance(places[0], ast.Starred) and len(places) == len(values):
            # Those of another array stand behind the first ones.
            parts = [
                [value.value]
                if isinstance(value, Number)
                else _axes_of(value) or [self.symbols.fresh("_")]
                for value in values
            ]
            if all(isinstance(v, Number) or _axes_of(v) for v in values[1:]):
                return Array([self._told(a) for p in parts for a in p], False)
        tail: list[ast.expr] = []
        for value in values[1:]:
            tail.append(
                value.value if isinstance(value, Number) else self.symbols.fresh("_")
            )
        merged = self._merged(array, values[0], tail)
        if merged is not None:
            return merged
        behind = self._behind(array, values[0])
        if behind is not None:
            return Array([*behind, *map(self._told, tail)], False, array.kind)
        if not array.lead and isinstance(shape := values[0], Shape):
            other, stop = shape.array, shape.stop
            before = other is not array and other.lead and shape.start is None
            if before and isinstance(stop, int) and 0 < -stop <= len(other.axes):
                # Rows of what was made flat, behind the axes that it had.
                made = [*other.axes[:stop], *map(self._told, tail)]
                return other.like(made, array.kind)
        first = places[0]
        if isinstance(first, ast.Starred) and ast.unparse(first).endswith(
            (".shape[:-1]", "batch")
        ):
            open_ = [i for i, t in enumerate(tail) if literal(t) == -1]
            whole = self.symbols.axis(array, -1) if len(open_) == 1 else None
            if whole is not None:
                others = product(t for i, t in enumerate(tail) if i != open_[0])
                size = expression("a // b", a=whole, b=others)
                tail[open_[0]] = folded(size)
            elif not open_ and not array.axes and not any(map(is_symbol, tail)):
                # The last axis is divided, of which nothing else tells the size.
                last = self.symbols.axis(array, -1)
                if last is not None:
                    self.symbols.equal(last, _undivided([*map(self.plain, tail)]))
            return array.like([*array.axes[:-1], *tail])
        match first:
            case ast.Starred(
                value=ast.Subscript(
                    slice=ast.Slice(
                        lower=None,
                        upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(left)),
                    )
                )
            ) if isinstance(left, int) and not array.lead and left < len(array.axes):
                return Array([*array.axes[:-left], *map(self._told, tail)], False)
            case ast.Starred(
                value=ast.Subscript(
                    slice=ast.Slice(lower=None, upper=ast.Constant(kept))
                )
            ) if isinstance(kept, int) and kept > 0 and self._kept(array, kept):
                if [literal(t) for t in tail] == [-1]:
                    tail = [product(array.axes[kept:])]
                return Array([*array.axes[:kept], *map(self._told, tail)], False)
        return Array([self._told(t) for t in tail], True, array.kind)

    def _merged(self, array: Array, first: Value, tail: list[ast.expr]) -> Array | None:
        """`y.reshape(*x.shape[:-1], -1)`: the last axes as one, behind those of an array with fewer."""
        if not isinstance(first, Shape) or [literal(t) for t in tail] != [-1]:
            return None
        other, stop = first.array, first.stop
        own = other is array and first.start is None and isinstance(stop, int)
        if own and 0 < -(stop or 0) <= len(array.axes):
            # `y.reshape(*y.shape[:-2], -1)`: its own last axes.
            return array.like([*array.axes[:stop], product(array.axes[stop:])])
        known = not other.lead and not array.lead
        alike = known or (other.prefix is array.prefix and other.lead == array.lead)
        if first.start is not None or stop is None or stop >= 0 or not alike:
            return None
        kept = len(other.axes) + stop
        more = len(array.axes) - len(other.axes)
        same_axes = zip(other.axes[:kept], array.axes, strict=False)
        if more < 1 or kept < 0 or not all(a is b for a, b in same_axes):
            return None
        return array.like([*array.axes[:kept], product(array.axes[kept:])])

    def _behind(self, array: Array, first: Value) -> list[ast.expr] | None:
        """The first axes of another array that has more or fewer, behind which others are told; None else."""
        if not isinstance(first, Shape) or first.array is array or array.lead:
            return None
        other, stop = first.array, first.stop
        if other.lead or first.start is not None or len(other.axes) == len(array.axes):
            return None
        return other.axes[:stop] if stop is not None and stop < 0 else None

    def _kept(self, array: Array, count: int) -> bool:
        """Whether the first axes of an array are known, as all are; that one follows them is taken so."""
        if array.lead and len(array.axes) == 1 and array.usual >= count:
            self.symbols.ranked(array, [*("batch", "positions")[:count], "features"])
        return not array.lead

    def _told(self, size: ast.expr) -> ast.expr:
        """A size; a new one for one that is left open."""
        return self.symbols.fresh("_") if literal(size) == -1 else size


def _factors(size: ast.expr) -> list[ast.expr]:
    """What a size is the product of."""
    match size:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*_factors(left), *_factors(right)]
    return [size]


def _taken(size: ast.expr, axes: list[str]) -> set[int] | None:
    """The places of the axes that a size is the product of, `h * w`; None where it is none of those."""
    text = ast.unparse(size)
    if text in axes:
        return {axes.index(text)}
    match size:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            first = _taken(left, axes)
            # What one factor takes is not there for the other one.
            others = ["" if i in (first or ()) else axis for i, axis in enumerate(axes)]
            second = _taken(right, others)
            return first | second if first and second else None
    return None


def _undivided(sizes: Sequence[ast.expr]) -> ast.expr:
    """The product of sizes, of which one may be a share by the others: `heads * (width // heads)`."""
    for size in sizes:
        match size:
            case ast.BinOp(left=whole, op=ast.FloorDiv(), right=by):
                others = [s for s in sizes if s is not size]
                if same(folded(product(others)), by):
                    return whole
    return folded(product(sizes))
