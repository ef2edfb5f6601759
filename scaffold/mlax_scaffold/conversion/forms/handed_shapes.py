"""Methods that are handed the shape of an array, `self.grid(x.shape)`: they are handed the array.

What they make has its dtype then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import arguments_given
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_CALLS = ("__init__", "__call__", "forward", "setup")


def with_arrays_for_shapes(origin: Origin) -> None:
    """Hand these the arrays, in place."""
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name not in _CALLS:
                calls = [
                    call
                    for call in walk(node)
                    if isinstance(call, ast.Call)
                    and self_attribute(call.func) == method.name
                ]
                _hand(method, calls)


def _hand(method: ast.FunctionDef, calls: list[ast.Call]) -> None:
    parameters = arguments_given(method)
    used = {n.id for n in walk(method) if isinstance(n, ast.Name)}
    used |= {a.arg for a in parameters}
    for place, parameter in enumerate(parameters):
        given = [[*_given(call, place, parameter.arg)] for call in calls]
        arrays = [_array_of(value) for found in given for _, value in found]
        one = all(len(found) == 1 for found in given) and None not in arrays
        if not calls or not one or _is_bound(method, parameter.arg):
            continue
        title = str(arrays[0])
        if title in used:
            title = f"{parameter.arg}_of"
        _Shapes(parameter.arg, title).visit(method)
        parameter.arg, parameter.annotation = title, None
        for found, array in zip(given, arrays, strict=True):
            holder, value = found[0]
            made = ast.copy_location(ast.Name(str(array), ast.Load()), value)
            read = next(n for n in walk(value) if isinstance(n, ast.Name))
            if hasattr(read, "rank"):
                made.rank = read.rank  # type: ignore[attr-defined]
            if isinstance(holder, ast.keyword):
                holder.arg, holder.value = title, made
            else:
                holder.args[place] = made
        used.add(title)
        located(method)


def _given(
    call: ast.Call, place: int, title: str
) -> Iterator[tuple[ast.Call | ast.keyword, ast.expr]]:
    """What a call gives a parameter, and what holds it."""
    if len(call.args) > place:
        yield call, call.args[place]
    yield from ((k, k.value) for k in call.keywords if k.arg == title)


def _array_of(value: ast.expr) -> str | None:
    """The name of the array whose shape a value is."""
    match value:
        case (
            ast.Attribute(value=ast.Name(id=title), attr="shape")
            | ast.Call(
                func=ast.Attribute(value=ast.Name(id=title), attr="size"),
                args=[],
                keywords=[],
            )
        ):
            return title
    return None


def _is_bound(method: ast.FunctionDef, title: str) -> bool:
    return any(
        isinstance(part, ast.Name)
        and part.id == title
        and not isinstance(part.ctx, ast.Load)
        for part in walk(method)
    )


class _Shapes(NodeTransformer):
    def __init__(self, shape: str, array: str):
        self.shape, self.array = shape, array

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.shape:
            return node
        array = ast.copy_location(ast.Name(self.array, ast.Load()), node)
        return ast.copy_location(ast.Attribute(array, "shape", ast.Load()), node)
