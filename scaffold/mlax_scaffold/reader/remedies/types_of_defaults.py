"""The types of fields that are called a `tuple` or a `list`, by what their defaults hold."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source


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
