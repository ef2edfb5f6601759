"""Inputs whose axes branches of a setting read differently: channels that stand last, or behind the batch.

if self.data_format == "channels_last":
    return layer_norm(x, ...)               the last axis of x
else:
    return x * self.weight[:, None, None]   its second axis of four
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.declarations.reading import Environment
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import literal, names, same, self_attribute
from mlax_scaffold.conversion.source.walking import walk


class PartedInputs:
    """The inputs of which nothing is known before two branches, each of which ends the method."""

    def __init__(self, env: Environment, node: ast.If, condition: ast.expr):
        self.condition = condition
        read = _read(node.body) & _read(node.orelse)
        self.given = {
            local: value
            for local, value in env.items()
            if local in read and isinstance(value, Array) and _is_unknown(value)
        }
        self.first = {k: Array([], True, a.kind) for k, a in self.given.items()}
        self.second = {k: Array([], True, a.kind) for k, a in self.given.items()}

    def settled(
        self, symbols: Symbols, returned: list[Value], other: list[Value]
    ) -> list[Value]:
        """Tell the inputs what both branches say of them; what the method returns in the branches."""
        apart = False
        for local, given in self.given.items():
            one, two = self.first[local], self.second[local]
            if not _agree(symbols, one, two):
                apart = True
                given.cases.append((self.condition, one, two))
                continue
            told = one if _told(one) >= _told(two) else two
            for title, value in vars(told).items():
                setattr(given, title, value)
            for made in (*returned, *other):
                if isinstance(made, Array) and any(
                    made.prefix is known.prefix for known in (one, two)
                ):
                    made.prefix = given.prefix
        if not apart:
            return [*returned, *other]
        kept = [
            local
            for local, given in self.given.items()
            if all(_alike(symbols, r, self.first[local]) for r in returned)
            and all(_alike(symbols, r, self.second[local]) for r in other)
        ]
        return [self.given[kept[0]]] if kept else [None]


def case_of(array: Array, values: Mapping[str, object]) -> Array:
    """What an array is for these values of hyperparameters, where branches read it differently."""
    while array.cases:
        condition, one, two = array.cases[0]
        array = one if _holds(condition, values) else two
    return array


def settings_of(array: Array) -> set[str]:
    """The hyperparameters that say which of its cases an array is."""
    return {
        attribute
        for condition, *others in array.cases
        for attribute in (
            *(self_attribute(part) for part in walk(condition)),
            *(title for other in others for title in settings_of(other)),
        )
        if attribute
    }


def _holds(condition: ast.expr, values: Mapping[str, object]) -> bool:
    match condition:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _holds(inner, values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            value, other = values.get(self_attribute(left) or ""), literal(right)
            if isinstance(other, tuple | list | set):
                return (value in other) == isinstance(op, ast.In)
            return (value == other) == isinstance(op, ast.Eq | ast.Is)
    return bool(values.get(self_attribute(condition) or ""))


def _read(body: list[ast.stmt]) -> set[str]:
    return {title for node in body for title in names(node)}


def _is_unknown(array: Array) -> bool:
    """Whether nothing is known of an array, and nothing else is told by it."""
    told = array.against or array.widened or array.behind or array.parts or array.cases
    numbered = array.asked or array.first or array.prefix.some or array.prefix.least
    return array.lead and not array.axes and not told and not numbered


def _told(array: Array) -> tuple[bool, int]:
    return not array.lead, len(array.axes)


def _alike(symbols: Symbols, value: Value, array: Array) -> bool:
    """Whether a value has the shape of an array."""
    return (
        isinstance(value, Array)
        and value.lead == array.lead
        and len(value.axes) == len(array.axes)
        and all(
            same(symbols.find(a), symbols.find(b))
            for a, b in zip(value.axes, array.axes, strict=True)
        )
    )


def _agree(symbols: Symbols, one: Array, two: Array) -> bool:
    """Whether two readings of one input are of the same axes, which become those of both."""
    pairs = [
        (symbols.find(a), symbols.find(b))
        for a, b in zip(reversed(one.axes), reversed(two.axes), strict=False)
    ]
    if not one.lead and not two.lead and len(one.axes) != len(two.axes):
        return False
    alike = one.lead == two.lead and len(one.axes) == len(two.axes)
    for a, b in pairs:
        if not same(a, b) and not (alike and (is_symbol(a) or is_symbol(b))):
            return False
    for a, b in pairs:
        symbols.equal(a, b)
    return True


def ends(body: list[ast.stmt]) -> bool:
    """Whether a method ends where these statements do."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    return isinstance(last, ast.Return | ast.Raise)
