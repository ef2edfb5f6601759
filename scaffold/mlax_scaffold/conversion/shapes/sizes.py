"""Shapes as far as they are known: axes as expressions of hyperparameters, and unknown ones as symbols."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from mlax_scaffold.conversion.shapes.array_kinds import (
    has_new_axis,
    is_column,
    is_of_channels,
    is_square,
)
from mlax_scaffold.conversion.shapes.size_equations import (
    ONE_ELEMENT,
    chosen_of,
    is_symbol,
    without_common,
    without_numbers,
)
from mlax_scaffold.conversion.shapes.values import Array, Prefix
from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    literal,
    name,
    names,
    replaced,
    same,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


class Symbols:
    """Unknown sizes, and what they turn out to be."""

    def __init__(self, constants: Mapping[str, object] | None = None) -> None:
        self.known: dict[str, ast.expr] = {}
        self.constants: dict[str, ast.expr] = {
            k: ast.Constant(v) for k, v in (constants or {}).items() if type(v) is int
        }
        """Numbers of the file, by name, such as those of its channels."""
        self.hints: dict[str, str] = {}
        self.demands: list[tuple[ast.expr, ast.expr]] = []
        """Sizes that have to be the same, though neither is unknown as a whole."""
        self.alike: list[tuple[Array, Array]] = []
        """Arrays that have as many axes, though nothing told how many when they were combined."""
        self.joined: list[tuple[Array, Array, int]] = []
        """Arrays that were joined along one of their last axes."""
        self.beside: list[tuple[Array, Array]] = []
        """Arrays that were combined when nothing told how many axes either has."""
        self.broadcast: list[tuple[Array, Array]] = []
        """Those of which it was told of one."""
        self.products: list[tuple[Array, Array]] = []
        """Matrices that were multiplied when nothing told how many axes either has."""
        self.passes: dict[str, ast.expr] = {}
        """How many passes of loops count with a name: `for i in range(self.channels)`."""
        self.assumed: list[tuple[ast.expr, ast.expr]] = []
        """Sizes that the branch that is read is for, where they are the same, and which others may not be."""
        self.unsettled: list[tuple[ast.expr, ast.expr]] = []
        """Sizes that are the first where a condition holds, and the second, which is unknown, elsewhere."""
        self.halves: list[tuple[ast.Name, ast.expr]] = []
        """Lengths of `x[::2]`, and what they are where nothing tells that they are those of `x[1::2]`."""
        self.numbers: set[str] = set()
        """Hyperparameters that are sizes, and never None."""
        self.count = 0

    def fresh(self, hint: str) -> ast.Name:
        """A new unknown size."""
        self.count += 1
        made = name(f"@size:{self.count}")
        self.hints[made.id] = hint
        return made

    def find(self, node: ast.expr) -> ast.expr:
        """The expression with what is known of its symbols."""
        if is_symbol(node):
            assert isinstance(node, ast.Name)
            known = self.known.get(node.id)
            return node if known is None else self.find(known)
        if not any(is_symbol(n) for n in walk(node)):
            return node
        symbols = self

        class Known(NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                return cloned(symbols.find(node)) if is_symbol(node) else node

        return folded(Known().visit(cloned(node)))

    def equal(self, left: ast.expr, right: ast.expr) -> None:
        """Take two sizes to be the same, where one of them is unknown."""
        left, right = self._number(self.find(left)), self._number(self.find(right))
        for chosen in chosen_of(left, right):
            self.equal(*chosen)
        left, right = self.find(left), self.find(right)
        left, right = without_numbers(*without_common(left, right))
        if same(left, right) or self._is_assumed(left, right):
            return
        one, other = _symbol(left), _symbol(right)
        if one is not None and other is not None and one.id in self.hints:
            # What a declaration waits for becomes what the input has.
            told = self.hints.get(other.id, "_")
            one, other = (one, other) if told.strip("_") else (other, one)
            self.known[one.id] = other
        elif one is not None and not self._within(one, right):
            self.known[one.id] = right
        elif other is not None and not self._within(other, left):
            self.known[other.id] = left
        else:
            self.demands.append((left, right))

    def _is_assumed(self, left: ast.expr, right: ast.expr) -> bool:
        sides = [(self.find(a), self.find(b)) for a, b in self.assumed]
        pairs = [*sides, *((b, a) for a, b in sides)]
        return any(same(a, left) and same(b, right) for a, b in pairs)

    def _number(self, node: ast.expr) -> ast.expr:
        """A size, with the numbers that the file has names for."""
        if self.constants.keys() & names(node):
            return folded(replaced(cloned(node), self.constants))
        return node

    def _within(self, symbol: ast.Name, node: ast.expr) -> bool:
        return any(isinstance(n, ast.Name) and n.id == symbol.id for n in walk(node))

    def axis(self, array: Array, index: int, hint: str = "features") -> ast.expr | None:
        """An axis, from the end where the index is negative; an unknown one begins to be known."""
        if index < 0:
            between = array.widened is not None and array.widened[1] == 1
            if between and index == -1 and array.lead and not array.axes:
                # Its features, `query.unsqueeze(1)`, behind the new axis: of the examples of a batch.
                self.ranked(array, ("batch", "", hint))
            while array.lead and len(array.axes) < -index:
                array.grow(self.fresh(hint if index == -1 else f"axis{-index}"))
            return array.axes[index] if len(array.axes) >= -index else None
        if array.lead or index >= len(array.axes):
            return None
        return array.axes[index]

    def ranked(self, array: Array, hints: Iterable[str]) -> bool:
        """Take an array to have so many axes."""
        wanted = list(hints)
        if not array.lead:
            return len(array.axes) == len(wanted)
        if len(array.axes) > len(wanted):
            return False
        if array.widened is not None and self._narrowed(array, wanted):
            return True
        missing = wanted[: len(wanted) - len(array.axes)]
        for axis, hint in zip(array.axes, wanted[len(missing) :], strict=True):
            if isinstance(axis, ast.Name) and is_symbol(axis):
                self.hints.setdefault(axis.id, hint)
        array.prefix.axes[:0] = [self.fresh(h) for h in missing]
        array.prefix.open = False
        for part in array.parts:
            if self.ranked(part, wanted):
                pairs = zip(array.axes, part.axes, strict=True)
                for i, (mine, axis) in enumerate(pairs):
                    if i - array.along not in (0, len(array.axes)):
                        self.equal(mine, axis)
        whole = array.parts and not array.cut
        if whole and all(not part.lead for part in array.parts):
            sizes = [part.axes[array.along] for part in array.parts]
            self.equal(array.axes[array.along], _sum(sizes))
        return True

    def _narrowed(self, array: Array, wanted: list[str]) -> bool:
        """Take the array that has one axis less to have one less than so many."""
        assert array.widened is not None
        inner, at = array.widened
        if not inner.lead or not -len(wanted) <= at < len(wanted):
            return False
        at %= len(wanted)
        if not self.ranked(inner, wanted[:at] + wanted[at + 1 :]):
            return False
        whole = [*inner.axes[:at], ast.Constant(1), *inner.axes[at:]]
        for mine, axis in zip(reversed(array.axes), reversed(whole), strict=False):
            self.equal(mine, axis)
        array.tail[:] = whole
        array.prefix = Prefix([], False)
        return True

    def together(self, left: Array, right: Array) -> Array:
        """The result of an operation of two arrays that are broadcast."""
        left.told_by(right)
        right.told_by(left)
        if (left.lead or right.lead) and left.tail and right.tail:
            both = left.lead and right.lead
            (self.beside if both else self.broadcast).append((left, right))
        for a, b in zip(reversed(left.axes), reversed(right.axes), strict=False):
            one = any(isinstance(s, ast.Constant) and s.value == 1 for s in (a, b))
            if not one:
                self.equal(a, b)
        for one, other in ((left, right), (right, left)):
            if one.lead and len(one.axes) == 1 and is_square(other):
                # Beside the matrix with ones on its diagonal there is another one.
                self.equal(self.axis(one, -2) or other.axes[-2], other.axes[-2])
            self.as_asked_inside(one, other)
            self._along_new(one, other)
            self._along_looked_up(one, other)
            if one.lead and not one.axes and len(other.axes) == 1 and not other.lead:
                if literal(other.axes[0]) == 1:
                    # One number for all, `torch.zeros(1)`, says nothing of the array.
                    return one
                axis = self.axis(one, -1)
                if axis is not None:
                    self.equal(axis, other.axes[0])
                return one
            if one.lead and not one.axes and is_of_channels(other):
                # A weight for each channel, before axes that are of no matter to it.
                for i in range(1, len(other.axes) + 1):
                    axis = self.axis(one, -i)
                    if axis is not None and literal(other.axes[-i]) != 1:
                        self.equal(axis, other.axes[-i])
                return one
            if one.lead and not one.axes and other.axes:
                if 0 < one.asked < len(other.axes) and not other.lead:
                    self._as_asked(one, other)
                    return one
                if has_new_axis(other) and one.kind == "Float":
                    # What an axis was put in for has that one itself.
                    hints = ["_", "positions", *["_"] * (len(other.axes) - 2)]
                    self.ranked(one, hints)
                    for mine, axis in zip(one.axes, other.axes, strict=True):
                        if literal(axis) != 1:
                            self.equal(mine, axis)
                    return one
                whole = self._longer(other)
                one.broadcast_to(whole)
                return whole
        if left.lead and right.lead and not left.axes and left is not right:
            right.broadcast_to(left)
        longer, other = left, right
        if len(right.axes) > len(left.axes) or (right.lead and not left.lead):
            longer, other = right, left
        axes = list(longer.axes)
        for i in range(1, min(len(axes), len(other.axes)) + 1):
            value = axes[-i]
            if isinstance(value, ast.Constant) and value.value == 1:
                axes[-i] = other.axes[-i]
        if all(a is b for a, b in zip(axes, longer.axes, strict=True)):
            # What is found out of the result later is so of the array itself.
            return longer
        return longer.like(axes)

    def _along_new(self, array: Array, other: Array) -> None:
        """What is combined with an array that has a new axis before its last ones has that axis."""
        known = len(array.axes)
        before = other.axes[: len(other.axes) - known]
        if not array.lead or other.lead or not known or len(before) < 2:
            return
        # A weight that has an axis of one element for each of them tells it, too.
        ones = all(literal(axis) == 1 for axis in before)
        if ones or (literal(before[-1]) == 1 and literal(before[0]) != 1):
            self.ranked(array, ("batch", *["_"] * (len(other.axes) - 1)))
            for mine, axis in zip(array.axes, other.axes, strict=True):
                if literal(axis) != 1:
                    self.equal(mine, axis)

    def settle_ranks(self) -> None:
        """Take such arrays to have as many axes, where it is known of one of them."""
        self._settle_halves()
        for _ in self.alike:
            for one, other in (p for a, b in self.alike for p in ((a, b), (b, a))):
                if one.lead and not other.lead and len(other.axes) > len(one.axes):
                    self.ranked(one, ("batch", *["_"] * (len(other.axes) - 1)))
                    for mine, axis in zip(one.axes, other.axes, strict=True):
                        self.equal(mine, axis)
        for one, other in (p for a, b in self.products for p in ((a, b), (b, a))):
            for each in (one, one.turned) if not other.lead else ():
                if each is not None and len(each.axes) == 2:
                    self.ranked(each, ["batch"] * (len(other.axes) - 2) + ["_", "_"])
        for one, other in (p for a, b in self.broadcast for p in ((a, b), (b, a))):
            axes = [*map(self.find, other.axes)]
            more = not other.lead and len(axes) > max(2, len(one.axes))
            open_ = one.lead and one.kind == "Float" and not one.prefix.some
            if more and open_ and is_symbol(axes[0]):
                # Features of the same sequences, or images.
                self.ranked(one, ("batch", *["_"] * (len(axes) - 1)))
                for mine, axis in zip(one.axes, axes, strict=True):
                    self.equal(mine, axis)
        for one, other in (p for a, b in self.beside for p in ((a, b), (b, a))):
            if one.lead and len(one.axes) == 1 and is_column(other):
                # A number for each row, which there are as many of.
                rows = self.axis(one, -2)
                self.equal(rows or other.axes[-2], other.axes[-2])

    def settle_examples(self) -> None:
        """Take what is combined with an array of one example to be of one example, too."""
        for _ in self.beside:
            for one, other in (p for a, b in self.beside for p in ((a, b), (b, a))):
                if one.lead and not other.lead and len(other.axes) == len(one.axes):
                    self.ranked(one, ["_"] * len(other.axes))

    def _along_looked_up(self, array: Array, other: Array) -> None:
        """Rows of a table that are combined with an array are as many as it has."""
        rows = array.looked_up
        if rows is None or not array.lead or len(array.tail) != len(array.axes):
            return
        if other.lead and len(other.tail) == len(other.axes) == len(array.tail):
            self.alike.append((array, other))
        if other.lead or len(other.axes) <= len(array.axes):
            return
        if literal(other.axes[0]) == 1:
            return
        self.ranked(array, ("batch", *["_"] * (len(other.axes) - 1)))
        for mine, axis in zip(array.axes, other.axes, strict=True):
            if literal(axis) != 1:
                self.equal(mine, axis)

    def stacked(self, left: Array, right: Array, out: ast.expr) -> Array | None:
        """The products of stacks of matrices that are broadcast to each other; None where one is open."""
        if left.lead or right.lead or len(left.axes) < 3 or len(right.axes) < 3:
            return None
        pair = sorted((left.axes[:-2], right.axes[:-2]), key=len)
        other, made = pair[0], list(pair[1])
        for i in range(1, len(other) + 1):
            if literal(self.find(made[-i])) == 1:
                made[-i] = other[-i]
            elif literal(self.find(other[-i])) != 1:
                self.equal(made[-i], other[-i])
        return Array([*made, left.axes[-2], out], False)

    def batched(self, left: Array, right: Array) -> None:
        """Take two stacks of matrices, whose axes are known, to be of the same batches."""
        if left.lead and right.lead and len(left.axes) == 1 < len(right.axes):
            # What stands before a stack of matrices is one, too.
            self.axis(left, -2)
        given = left.lead or is_symbol(self.find(left.axes[0]))
        if given and right.lead and len(left.axes) == len(right.axes) == 2:
            self.products.append((left, right))
        if not left.lead and right.lead and len(right.axes) == 2 < len(left.axes):
            # Matrices beside matrices: of one for all, the code would have a weight.
            self.ranked(right, ["_"] * len(left.axes))
        if not left.lead and not right.lead and len(left.axes) == len(right.axes):
            for one, other in zip(left.axes[:-2], right.axes[:-2], strict=True):
                if 1 not in (literal(one), literal(other)):
                    self.equal(one, other)

    def _longer(self, array: Array) -> Array:
        """What an array becomes with one that may be longer where it has a single element."""
        if not any(literal(a) == 1 for a in array.axes):
            return array
        return array.like(
            [self.fresh(ONE_ELEMENT) if literal(a) == 1 else a for a in array.axes]
        )

    def _as_asked(self, array: Array, other: Array) -> None:
        """An array whose axes are read by number has as many as what is added to it."""
        hints = ("batch", "positions", "features")
        count = len(other.axes)
        self.ranked(array, hints if count == 3 else ("batch", *["_"] * (count - 1)))
        for mine, axis in zip(array.axes, other.axes, strict=True):
            if literal(axis) != 1:
                self.equal(mine, axis)

    def as_asked_inside(self, array: Array, other: Array) -> None:
        """So has one with a new axis, `mask.unsqueeze(-1)`, whose other axes are read by number."""
        inner = array.widened[0] if array.widened is not None else None
        count = len(other.axes)
        if inner is None or not inner.lead or other.lead or not inner.asked:
            return
        if inner.asked < count - 1 and self._narrowed(array, ["_"] * count):
            for mine, axis in zip(array.axes, other.axes, strict=True):
                if 1 not in (literal(mine), literal(axis)):
                    self.equal(mine, axis)

    def _settle_halves(self) -> None:
        """Lengths of `x[::2]` that nothing told are those of any number, even or odd."""
        for length, told in self.halves:
            if self.find(length) is length and not any(
                is_symbol(n) for n in walk(self.find(told))
            ):
                self.known[length.id] = told

    def settled(self, array: Array) -> None:
        """The number of axes of an input, where the axes that are read by number tell it."""
        if not array.lead or array.whole:
            return
        least = max(array.prefix.least, array.first if array.tail else 0)
        if not array.asked and not least:
            return
        count = least + len(array.tail)
        if array.asked:
            count = max(count, array.asked + 1 + len(array.tail), array.usual)
        hints = ["batch", "positions", "features"] + ["_"] * count
        self.ranked(array, hints[:count])


def _sum(sizes: Iterable[ast.expr]) -> ast.expr:
    made: ast.expr = ast.Constant(0)
    for size in sizes:
        made = expression("a + b", a=made, b=size) if literal(made) != 0 else size
    return made


def _symbol(node: ast.expr) -> ast.Name | None:
    return node if isinstance(node, ast.Name) and is_symbol(node) else None
