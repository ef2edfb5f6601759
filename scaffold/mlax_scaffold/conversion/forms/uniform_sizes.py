"""Sizes of windows that some calls of a class give as one number, and some as one for each axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal
from mlax_scaffold.conversion.source.walking import located, walk

_SIZES = ("kernel_size", "kernel", "stride", "strides", "dilation")
_COUNTS = ("padding", "pad", "output_padding")


def with_uniform_sizes(origin: Origin) -> None:
    """Let all calls of such a class give one for each axis, in place."""
    for node in origin.classes.values():
        start = next(
            (f for f in node.body if getattr(f, "name", "") == "__init__"), None
        )
        if not isinstance(start, ast.FunctionDef) or not is_layer_class(origin, node):
            continue
        for argument in start.args.args[1:]:
            if argument.arg in (*_SIZES, *_COUNTS) and argument.annotation is None:
                _widen(origin, node, start, argument)


def _widen(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, argument: ast.arg
) -> None:
    at = start.args.args.index(argument)
    given = list(_given(origin, node, at - 1, argument.arg))
    values = [literal(value) for _, _, value in given]
    lengths = {len(v) for v in values if isinstance(v, tuple)}
    plain = all(type(v) is int or isinstance(v, tuple) for v in values)
    if len(lengths) != 1 or not plain or _calculated(start, argument.arg):
        return
    [length] = lengths
    for holder, place, value in given:
        made = _repeated(value, length)
        if isinstance(holder, ast.keyword):
            holder.value = made
        else:
            holder.args[place] = made
    late = at - (len(start.args.args) - len(start.args.defaults))
    if late >= 0:
        start.args.defaults[late] = _repeated(start.args.defaults[late], length)
    kind = "Shape" if argument.arg in _COUNTS else "Tuple[int, ...]"
    [annotation] = ast.parse(kind).body
    assert isinstance(annotation, ast.Expr)
    argument.annotation = ast.copy_location(annotation.value, argument)
    located(argument)


def _given(
    origin: Origin, node: ast.ClassDef, at: int, parameter: str
) -> Iterator[tuple[ast.keyword | ast.Call, int, ast.expr]]:
    """What calls of a class give a parameter, and where it stands."""
    for part in walk(origin.tree):
        if not isinstance(part, ast.Call) or not is_name(part.func, node.name):
            continue
        if len(part.args) > at:
            yield part, at, part.args[at]
        for keyword in part.keywords:
            if keyword.arg == parameter:
                yield keyword, 0, keyword.value


def _repeated(value: ast.expr, length: int) -> ast.expr:
    if type(literal(value)) is not int:
        return value
    return ast.copy_location(ast.Tuple([value] * length, ast.Load()), value)


def _calculated(start: ast.FunctionDef, parameter: str) -> bool:
    """Whether the constructor reckons with it."""
    return any(
        isinstance(part, ast.BinOp | ast.Compare | ast.Subscript | ast.IfExp)
        and any(is_name(p, parameter) for p in walk(part))
        for part in walk(start)
    )
