"""What is read along a last axis: `boxes[:, 3]`, `softmax(x)`, and what labels choose of scores."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.reader.axes.index_parts import is_new, is_open, is_whole
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.operations import by_element, integer
from mlax_scaffold.reader.source import defaults_of, dotted, kind_of_value

_ALONG_LAST = frozenset(("argsort", "log_softmax", "softmax", "sort"))
"""Functions of an array whose axis is the last one where none is given."""
_LEAST_COLUMNS = 3
"""Of two, `x[:, 0]` and `x[:, 1]`, each may be a position, too."""
_Arrays = Mapping[str, Known | None]
"""Inputs by name; None for a number, which is by keyword."""


def tell(function: ast.FunctionDef, inputs: Mapping[str, Known]) -> None:
    """Note it of the inputs of a method or a function."""
    numbers = {a.arg for a, d in defaults_of(function.args) if kind_of_value(d)}
    arrays = {n: None if n in numbers else known for n, known in inputs.items()}
    _columns(function, arrays)
    for node in ast.walk(function):
        match node:
            case ast.Call(func=called, args=[first, *rest], keywords=named):
                name = (dotted(called) or "").rpartition(".")[2]
                if name == "take_along_axis" and rest:
                    _chosen(first, rest[0], arrays)
                elif name in _ALONG_LAST:
                    given = [k.value for k in named if k.arg == "axis"] + rest[:1]
                    if all(integer(axis) == -1 for axis in given):
                        _end(_one(first, arrays))


def _columns(function: ast.FunctionDef, arrays: _Arrays) -> None:
    """A last axis of which each item is read by its number has as many: `boxes[:, 0]` to `boxes[:, 3]`."""
    read: dict[tuple[str, bool], set[int]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Subscript(
                value=ast.Name(id=name), slice=ast.Tuple(elts=[first, last])
            ) if name in arrays and (number := integer(last)) is not None:
                open_ = is_open(first)
                if open_ or is_whole(first):
                    read.setdefault((name, open_), set()).add(number)
    for (name, open_), numbers in read.items():
        known, count = arrays[name], len(numbers)
        if known is None or known.told:
            continue
        if numbers != {*range(count)} or count < _LEAST_COLUMNS:
            continue
        if not open_:
            known.has(2)
        known.call(-1, str(count))


def _chosen(scores: ast.expr, indices: ast.expr, arrays: _Arrays) -> None:
    """`take_along_axis(scores, labels[:, None])`: both have as many axes."""
    match indices:
        case ast.Subscript(value=labels, slice=ast.Tuple(elts=[*axes, new])) if is_new(
            new
        ):
            own, other = _one(labels, arrays), _one(scores, arrays)
            if own is None or other is None or own is other:
                return
            if axes and all(map(is_whole, axes)):
                own.has(len(axes))
                other.has(len(axes) + 1)
            elif len(axes) == 1:
                _end(other)


def _end(known: Known | None) -> None:
    if known is not None and known.exact is None:
        known.from_end(-1)


def _one(node: ast.expr, arrays: _Arrays) -> Known | None:
    """The one input that all of an expression is computed of, element by element, and along its last axis."""
    found = {*_inputs(node, arrays)}
    return arrays.get(found.pop()) if len(found) == 1 else None


def _inputs(node: ast.expr, arrays: _Arrays) -> Iterator[str]:
    """The names of the inputs, and an empty one for what else may have axes."""
    match node:
        case ast.Name(id=name) if name in arrays:
            yield from [name] if arrays[name] is not None else []
        case ast.Constant():
            return
        case (
            ast.UnaryOp(operand=inner)
            | ast.Call(func=ast.Attribute(value=inner, attr="astype"))
        ):
            yield from _inputs(inner, arrays)
        case ast.BinOp(left=left, right=right) if not isinstance(node.op, ast.MatMult):
            yield from _inputs(left, arrays)
            yield from _inputs(right, arrays)
        case ast.Call(func=called, args=[first]) if (
            by_element(called)
            or (dotted(called) or "").rpartition(".")[2] in _ALONG_LAST
        ):
            yield from _inputs(first, arrays)
        case _:
            yield ""
