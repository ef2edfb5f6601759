"""The types of fields that are called a `tuple` or a `list`, by what their defaults hold."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, dotted, is_none

_BEGIN = ("_init", "_initializer")
"""Ends of names of what begins a weight."""
_DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int32", "complex64")


def of_default(source: Source, node: ast.expr) -> str | None:
    """A bare `tuple` by the items of its default; None where these are sizes, or there is none.

    Nothing, `""`, where no type has such items: None among them, or rows of several lengths.
    """
    for part in walk(source.tree):
        match part:
            case ast.AnnAssign(
                annotation=annotation,
                value=ast.Tuple(elts=items) | ast.List(elts=items),
            ) if source.same(annotation, node):
                return of_items(items)
    return None


def of_rows(source: Source, node: ast.expr) -> str | None:
    """`tuple[tuple[int, ...], ...]` by its default, whose rows are all as long; None where they are not."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Subscript(), ast.Constant()])):
            return of_default(source, node) or None
    return None


def of_value(source: Source, node: ast.expr) -> str | None:
    """`Callable` and `Any` by the default, or by the name of what begins a weight.

    None where the annotation says what it is, or nothing does.
    """
    words = {n.id for n in walk(node) if isinstance(n, ast.Name)}
    if not words & {"Any", "Callable"}:
        return None
    for part in walk(source.tree):
        match part:
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=annotation, value=value
            ) if annotation is node:
                made = value.func if isinstance(value, ast.Call) else value
                path = (dotted(made) if made is not None else None) or ""
                if ".initializers." in f".{path}" or name.endswith(_BEGIN):
                    none = value is not None and is_none(value)
                    return f"Initializer{' | None' if none else ''}"
                if path.rpartition(".")[2] in _DTYPES:
                    return "DType"
                if isinstance(value, ast.Constant):
                    kind = type(value.value).__name__
                    plain = "Callable" not in words and kind in (
                        "int",
                        "float",
                        "str",
                        "bool",
                    )
                    return kind if plain else None
    return None


def of_items(items: Sequence[ast.expr]) -> str | None:
    """The type of values of one kind, of several, `(10, 0.5, "cosine")`, or of rows that are all as long."""
    try:
        values = [ast.literal_eval(item) for item in items]
    except (ValueError, TypeError):
        return None
    if values and all(isinstance(v, tuple | list) for v in values):
        lengths = {len(v) for v in values}
        columns = [_kind(column) for column in zip(*values, strict=False)]
        if len(lengths) > 1 or None in columns or not columns:
            return ""
        return f"tuple[tuple[{', '.join(map(str, columns))}], ...]"
    if kind := _kind(values):
        sizes = kind == "int" and min(values) >= 1
        return None if sizes else f"tuple[{kind}, ...]"
    kinds = [_kind([v]) for v in values]
    if not kinds:
        return None
    return "" if None in kinds else f"tuple[{', '.join(map(str, kinds))}]"


def _kind(values: Sequence[object]) -> str | None:
    """The word for values of one kind; None for no such kind, or several."""
    kinds = {type(v) for v in values}
    if kinds == {int, float}:
        return "float"
    known = {int: "int", float: "float", str: "str", bool: "bool"}
    return known.get(kinds.pop()) if len(kinds) == 1 else None
