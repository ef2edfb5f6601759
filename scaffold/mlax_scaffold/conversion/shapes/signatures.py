"""What a class of a file makes of its inputs, for those that are built on it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.substituting import substituted
from mlax_scaffold.conversion.shapes.values import Array, Each, Prefix, Several, Value
from mlax_scaffold.conversion.source.trees import replaced
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned

_OF_IMAGES = frozenset({"height", "width", "depth", "time"})


class Signature:
    """What a class of the file makes of its inputs, for those that are built on it."""

    def __init__(
        self,
        symbols: Symbols,
        inputs: list[Value],
        result: Value,
        fields: Mapping[str, ast.expr | None],
        derived: Mapping[str, ast.expr],
        locals_: Mapping[str, ast.expr],
    ):
        prefixes: dict[int, Prefix] = {}

        def told(axis: ast.expr) -> ast.expr:
            # What the class computes of its arguments, another one does not have.
            return substituted(replaced(symbols.find(axis), locals_), derived)

        self.inputs = [_frozen(told, i, prefixes) for i in inputs]
        self.output = _frozen(told, result, prefixes)
        self.fields = fields
        """The fields in order, and what each is by default."""
        self.hints = {k: h for k, h in symbols.hints.items() if h in _OF_IMAGES}
        """Sizes that are chosen as those of images and series are."""

    def result(self, symbols: Symbols, call: ast.Call, given: list[Value]) -> Value:
        """The result for these arguments of the declaration, and these inputs."""
        values = {k: v for k, v in self.fields.items() if v is not None}
        values |= dict(zip(self.fields, call.args, strict=False))
        values |= {k.arg: k.value for k in call.keywords if k.arg}
        renamed: dict[str, ast.expr] = {}

        def axis_of(axis: ast.expr) -> ast.expr:
            fresh = _fresh(symbols, axis, renamed, self.hints)
            return substituted(fresh, values, symbols.numbers)

        def made(value: Value) -> Value:
            if isinstance(value, Array):
                first = given[0] if given else None
                shared = value.lead and self.shares(value) and isinstance(first, Array)
                axes = [axis_of(a) for a in value.axes]
                if shared and isinstance(first, Array):
                    return _behind(symbols, first, self._known(), axes)
                return Array(axes, value.lead, value.kind)
            if isinstance(value, Several):
                return Several([made(i) for i in value.items], made(value.alone))
            return None

        pairs = list(_paired(self.inputs, given))
        for expected, actual in pairs:
            if isinstance(expected, Array) and isinstance(actual, Array):
                axes = [axis_of(a) for a in expected.axes]
                wanted = Array(axes, expected.lead, expected.kind)
                numeric = (wanted.kind, actual.kind) == ("Float", "Bool")
                if wanted.kind == "Int":
                    actual.of_integers()
                elif numeric:
                    actual.kind = wanted.kind
                if not wanted.lead and actual.lead:
                    symbols.ranked(actual, ["_"] * len(wanted.axes))
                for i in range(1, len(wanted.axes) + 1):
                    axis = symbols.axis(actual, -i)
                    if axis is not None:
                        symbols.equal(axis, wanted.axes[-i])
        self._same_first_axes(symbols, pairs)
        for expected, actual in pairs:
            flat = expected.flat if isinstance(expected, Array) else None
            if flat is not None and isinstance(actual, Array) and actual.lead:
                told = axis_of(flat)
                if not actual.axes and actual.flat is None:
                    actual.at_least_one()
                    actual.flat = told
        for expected, actual in pairs:
            against = expected.against if isinstance(expected, Array) else None
            if against is None or not isinstance(actual, Array):
                continue
            whole = made(against)
            known = actual.against is not None
            if not isinstance(whole, Array):
                continue
            if actual.lead and not actual.axes and not known:
                actual.broadcast_to(whole)
            elif actual.lead and len(actual.axes) < len(whole.axes) and not whole.lead:
                # All axes of what it is broadcast to, of which the last ones are known by themselves.
                symbols.ranked(actual, ["_"] * len(whole.axes))
                for one, other in zip(actual.axes, whole.axes, strict=True):
                    symbols.equal(one, other)
            elif not against.axes and len(actual.axes) == len(whole.axes):
                for one, other in zip(actual.axes, whole.axes, strict=True):
                    symbols.equal(one, other)
        return made(self.output)

    @staticmethod
    def _same_first_axes(
        symbols: Symbols, pairs: Iterable[tuple[Value, Value]]
    ) -> None:
        """What a class takes with any first axes has those of what it is given beside it."""
        taken = [
            (actual, len(expected.axes))
            for expected, actual in pairs
            if isinstance(expected, Array) and isinstance(actual, Array)
            if expected.lead and expected.axes
        ]
        first = next((a.axes[:-n] for a, n in taken if not a.lead), [])
        for actual, known in taken:
            if first and actual.lead and len(actual.axes) == known:
                symbols.ranked(actual, ["_"] * (len(first) + known))
            before = [] if actual.lead else actual.axes[:-known]
            for one, other in zip(before, first, strict=False):
                # What is one of them may be broadcast.
                sides = symbols.find(one), symbols.find(other)
                if not any(isinstance(side, ast.Constant) for side in sides):
                    symbols.equal(one, other)

    def mapped(
        self,
        symbols: Symbols,
        call: ast.Call,
        given: list[Value],
        axes: tuple[int | None, ...] | None = None,
    ) -> Value:
        """The result of `jax.vmap` of it, over the first axis of each input that has one."""
        batch: ast.expr | None = None
        elements: list[Value] = []
        over = axes or (0,) * len(given)
        for expected, actual, at in zip(self.inputs, given, over, strict=False):
            element = actual
            if at is None:
                elements.append(element)
                continue
            if isinstance(actual, Array) and isinstance(expected, Array):
                if actual.lead and not expected.lead:
                    inner = ["_"] * len(expected.axes)
                    symbols.ranked(actual, ["batch", *inner])
                if actual.lead and expected.axes:
                    # The axis that is mapped over stands before those.
                    symbols.axis(actual, -len(expected.axes) - 1)
                if not actual.lead and actual.axes:
                    batch = batch or actual.axes[0]
                    symbols.equal(batch, actual.axes[0])
                    element = Array(actual.axes[1:], False, actual.kind)
            elements.append(element)
        result = self.result(symbols, call, elements)

        def many(value: Value) -> Value:
            if isinstance(value, Several):
                return Several([many(i) for i in value.items], many(value.alone))
            if isinstance(value, Array) and batch is not None:
                return Array([batch, *value.axes], value.lead, value.kind)
            return value

        return many(result)

    def tuples(self) -> dict[int, Several]:
        """The inputs that are tuples of arrays, by place."""
        return {i: v for i, v in enumerate(self.inputs) if isinstance(v, Several)}

    def _known(self) -> int:
        """How many axes are known of the first input."""
        first = self.inputs[0]
        return len(first.axes) if isinstance(first, Array) else 0

    def shares(self, value: Array) -> bool:
        """Whether a result has the first axes of the first input."""
        first = self.inputs[0] if self.inputs else None
        return isinstance(first, Array) and first.prefix is value.prefix and first.lead


def _paired(
    expected: Iterable[Value], given: Iterable[Value]
) -> Iterator[tuple[Value, Value]]:
    """What is expected with what is given, in tuples too."""
    for wanted, actual in zip(expected, given, strict=False):
        if isinstance(wanted, Several) and isinstance(actual, Several):
            yield from _paired(wanted.items, actual.items)
        elif isinstance(wanted, Each) and isinstance(actual, Each):
            yield from _paired([wanted.first], [actual.first])
        else:
            yield wanted, actual


def _behind(symbols: Symbols, first: Array, known: int, axes: list[ast.expr]) -> Array:
    """The axes of a result, behind those of its input that nothing is known of."""
    before = first.axes[: max(0, len(first.axes) - known)]
    # The very same axes are had in common.
    same_places = zip(axes, first.axes[len(before) :], strict=False)
    kept = [
        b if ast.unparse(symbols.find(a)) == ast.unparse(symbols.find(b)) else a
        for a, b in same_places
    ]
    if len(axes) == known and all(
        k is b for k, b in zip(kept, first.axes[len(before) :], strict=False)
    ):
        # What is found out of the result later is so of the array itself.
        return first
    return first.like([*before, *kept, *axes[len(kept) :]])


def _frozen(
    told: Callable[[ast.expr], ast.expr], value: Value, prefixes: dict[int, Prefix]
) -> Value:
    if isinstance(value, Array):
        prefix = prefixes.setdefault(
            id(value.prefix),
            Prefix([told(a) for a in value.prefix.axes], value.lead),
        )
        made = Array([told(a) for a in value.tail], kind=value.kind, prefix=prefix)
        if value.flat is not None:
            made.flat = told(value.flat)
        against = value.against
        if against is not None and value.lead and not value.axes:
            frozen = _frozen(told, against, prefixes)
            made.against = frozen if isinstance(frozen, Array) else None
        return made
    if isinstance(value, Several):
        items = [_frozen(told, i, prefixes) for i in value.items]
        return Several(items, _frozen(told, value.alone, prefixes))
    if isinstance(value, Each):
        return Each(_frozen(told, value.first, prefixes), value.alike)
    return None


def _fresh(
    symbols: Symbols,
    node: ast.expr,
    renamed: dict[str, ast.expr],
    hints: Mapping[str, str],
) -> ast.expr:
    class Fresh(NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if not is_symbol(node):
                return node
            if node.id not in renamed:
                renamed[node.id] = symbols.fresh(hints.get(node.id, "_"))
            return cloned(renamed[node.id])

    return Fresh().visit(cloned(node))
