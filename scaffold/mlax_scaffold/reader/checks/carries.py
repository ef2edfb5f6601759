"""Finds an `initial_carry` of a cell that does not take the shape of an input and its dtype."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Diagnostic, Edit, Fix
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, source_of, tree_of

_NAME = "initial_carry"
_SHAPE, _DTYPE = "input_shape", "dtype"


def check_carries(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every finding in what a cell begins with."""
    tree = tree_of(definition)
    if not definition.carries or not isinstance(tree, ast.ClassDef):
        return []
    source = source_of(definition)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == _NAME:
            _check(source, node)
    return source.diagnostics


def _check(source: Source, method: ast.FunctionDef) -> None:
    args = method.args
    taken = [*args.posonlyargs, *args.args][1:]
    if args.vararg or args.kwonlyargs or args.kwarg:
        return
    first = taken[0] if taken and taken[0].arg != _DTYPE else None
    sizes = _sizes(method, first.arg) if first else []
    count, required = len(taken), len(taken) - len(args.defaults)
    if count >= 2 >= required and not sizes:
        return
    source.report(
        method,
        f"{_NAME} of a cell takes the shape of an input, and its dtype",
        f"Write `def {_NAME}(self, {_SHAPE}, {_DTYPE})`; what comes before the last axis is "
        f"`{_SHAPE}[:-1]`.",
        fix=_mended(source, method, taken, first, sizes) if required <= 2 else None,
    )


def _sizes(method: ast.FunctionDef, name: str) -> list[ast.Name]:
    """Where a parameter stands as one size among others, `(batch_size, self.width)`."""
    return [
        part
        for node in walk(method)
        if isinstance(node, ast.Tuple | ast.List)
        for part in node.elts
        if isinstance(part, ast.Name) and part.id == name
    ]


def _mended(
    source: Source,
    method: ast.FunctionDef,
    taken: list[ast.arg],
    first: ast.arg | None,
    sizes: list[ast.Name],
) -> Fix | None:
    """The two parameters, and what a size was as all sizes but the last."""
    edits: list[Edit] = []
    known = {id(n) for n in sizes}
    if first and sizes:
        used = [
            n for n in walk(method) if isinstance(n, ast.Name) and n.id == first.arg
        ]
        if not known.issuperset(map(id, used)):
            return None
        edits.append(source.edit(first, _SHAPE))
        edits += [source.edit(n, f"*{_SHAPE}[:-1]") for n in sizes]
        edits += _calls(source, dtype=len(taken) == 1)
    if first is None and len(taken) < 2:
        both = f"{_SHAPE}, {_DTYPE}"
        own = (method.args.posonlyargs or method.args.args)[0]
        end = source.end(own)
        added = source.replace(end, end, f", {both}")
        edits.append(source.edit(taken[0], both) if taken else added)
    elif first and len(taken) == 1:
        end = source.end(first)
        edits.append(source.replace(end, end, f", {_DTYPE}"))
    return Fix(tuple(edits)) if edits else None


def _calls(source: Source, *, dtype: bool) -> list[Edit]:
    """Calls beside it that give a size: they give one of a batch, and one of features; and a dtype."""
    edits: list[Edit] = []
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=[given], keywords=[]) if (
                name == _NAME and dtype and (array := _array(given))
            ):
                edits.append(
                    source.edit(given, f"({ast.unparse(given)}, 1), {array}.dtype")
                )
            case ast.Call(func=ast.Attribute(attr=name), args=[given, *_]) if (
                name == _NAME and _is_size(given)
            ):
                edits.append(source.edit(given, f"({ast.unparse(given)}, 1)"))
    return edits


def _array(node: ast.expr) -> str:
    """The name of the array of which a size is that of an axis."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape")):
            return name if _is_size(node) else ""
    return ""


def _is_size(node: ast.expr) -> bool:
    """Whether it is one axis of a shape, or a name that is called so."""
    match node:
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=index):
            return not isinstance(index, ast.Slice)
        case ast.Name(id=name):
            return "shape" not in name
    return isinstance(node, ast.Constant)
