"""What conditions on hyperparameters make of values: one where they hold, and another one elsewhere."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.declaring import Declaring
from mlax_scaffold.conversion.shapes.chosen_sizes import (
    chosen_size,
    compares_sizes,
    is_case_of,
    says_equal,
    tells_which,
)
from mlax_scaffold.conversion.shapes.values import Array, Number, Several, Shape, Value
from mlax_scaffold.conversion.source.loop_parts import stride_of
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    name,
    names,
    negated,
    same,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


class Deciding(Declaring):
    """Tells them."""

    def _condition(self, test: ast.expr) -> ast.expr | None:
        """A condition on hyperparameters, as it is to stand in setup; None for others."""
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            _, left = self.value(cloned(test.left))
            _, right = self.value(cloned(test.comparators[0]))
            if isinstance(left, Shape) and isinstance(right, Shape):
                return self._differ(left, right, isinstance(test.ops[0], ast.NotEq))
        made = self.static(test)
        free = names(made) - {"self"}
        if any(not n.startswith("@") for n in free) or "self.training" in ast.unparse(
            made
        ):
            return None
        if any(isinstance(n, ast.Call) for n in walk(made)):
            return None
        for part in walk(made):
            attribute = self_attribute(part)
            if attribute is not None and attribute not in self.builder.fields:
                known = self.builder.attributes.get(attribute)
                if known is None or known.kind != "derived":
                    return None
        return made

    def _differ(self, left: Shape, right: Shape, unequal: bool) -> ast.expr | None:
        found: list[ast.expr] = []
        pairs = zip(reversed(left.array.axes), reversed(right.array.axes), strict=False)
        for a, b in [(self.symbols.find(a), self.symbols.find(b)) for a, b in pairs]:
            if ast.unparse(a) == ast.unparse(b):
                continue
            stride = stride_of(a, b) or stride_of(b, a)
            known = self.builder.fields.get(self_attribute(stride or a) or "")
            several = known is not None and known.word.startswith("Sizes")
            made = (
                expression("max(s) != 1" if several else "s != 1", s=stride)
                if stride
                else expression("a != b", a=a, b=b)
            )
            if ast.unparse(made) not in [ast.unparse(f) for f in found]:
                found.append(made)
        if not found:
            return None
        test = found[0] if len(found) == 1 else ast.BoolOp(ast.Or(), found[::-1])
        return test if unequal else negated(test)

    def either(self, test: ast.expr, one: Several, other: Several) -> Value:
        """One tuple of sizes or another, size by size."""
        pairs = list(zip(one.items, other.items, strict=False))
        numbers = all(isinstance(v, Number) for pair in pairs for v in pair)
        if not numbers or len(one.items) != len(other.items):
            return one
        made: list[Value] = []
        for a, b in pairs:
            assert isinstance(a, Number)
            assert isinstance(b, Number)
            same_ = ast.unparse(a.value) == ast.unparse(b.value)
            chosen = ast.IfExp(self.static(test), a.value, b.value)
            made.append(a if same_ else Number(chosen))
        return Several(made)

    def as_it_begins(self, target: ast.expr, value: Value) -> None:
        """What a state becomes has the axes that it begins with."""
        known = self.builder.attributes.get(self_attribute(target) or "")
        if known is None or known.kind != "state" or not isinstance(value, Array):
            return
        _, begun = self.value(ast.Attribute(name("self"), self_attribute(target) or ""))
        if not value.lead or not isinstance(begun, Array) or begun.lead:
            return
        if begun.axes and self.symbols.ranked(value, ["_"] * len(begun.axes)):
            for mine, axis in zip(value.axes, begun.axes, strict=True):
                self.symbols.equal(mine, axis)

    def either_array(self, test: ast.expr, one: Array, other: Array) -> Value:
        """One array or another; where sizes have to be the same for the one, the shape of the other."""
        if "self.training" in ast.unparse(test):
            return one
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        alike = isinstance(test, ast.Compare) or (
            isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
        )
        if alike and any(map(says_equal, parts)):
            return other if len(other.axes) == len(one.axes) else one
        open_, told = (one, other) if one.lead else (other, one)
        absent = _of_absent(test) and open_.lead and not told.lead and told.axes
        if absent and self.symbols.ranked(open_, ["_"] * len(told.axes)):
            # What stands for an input that is not given is like the input.
            for mine, axis in zip(open_.axes, told.axes, strict=True):
                self.symbols.equal(mine, axis)
        return self._after_branches(self._condition(test), one, other)

    def _after_branches(
        self, condition: ast.expr | None, value: Value, other: Value
    ) -> Value:
        """A value that is one where a condition on hyperparameters holds, and another one elsewhere."""
        if condition is None or value is other:
            self.symbols.unsettled += self._apart(value, other)
            return value
        if compares_sizes(condition):
            if self._is_case(condition, value, other):
                return other
            if tells_which(condition) or self._is_case(
                negated(condition), other, value
            ):
                # That says by itself which of them are the same.
                return value
        if not isinstance(value, Array) or not isinstance(other, Array):
            return value
        if not value.axes and other.lead and other.against is None:
            # What is told of one of them afterwards is told of the other one, too.
            other.broadcast_to(value)
        axes = list(value.axes)
        for i in range(1, min(len(axes), len(other.axes)) + 1):
            a, b = self.symbols.find(axes[-i]), self.symbols.find(other.axes[-i])
            if not same(a, b):
                axes[-i] = chosen_size(cloned(condition), a, b)
        if len(axes) != len(other.axes) and not value.lead and other.axes:
            # Of other axes elsewhere, it is of none that are always there but the last ones.
            return Array(axes[-len(other.axes) :], kind=value.kind)
        return value if axes == value.axes else value.like(axes)

    def _apart(self, value: Value, other: Value) -> list[tuple[ast.expr, ast.expr]]:
        """The sizes of two arrays that are not known to be the same, from the last axis on."""
        if not isinstance(value, Array) or not isinstance(other, Array):
            return []
        pairs = zip(reversed(value.axes), reversed(other.axes), strict=False)
        found = [(self.symbols.find(a), self.symbols.find(b)) for a, b in pairs]
        return [p for p in found if not same(*p)]

    def _is_case(self, condition: ast.expr, value: Value, general: Value) -> bool:
        if not isinstance(value, Array) or not isinstance(general, Array):
            return False
        pair = [list(map(self.symbols.find, a.axes)) for a in (value, general)]
        return len(pair[0]) == len(pair[1]) and is_case_of(condition, *pair)


def _of_absent(test: ast.expr) -> bool:
    """Whether a condition asks whether an input is given."""
    match test:
        case ast.Compare(
            left=ast.Name(), ops=[ast.Is() | ast.IsNot()], comparators=[n]
        ):
            return is_none(n)
    return False
