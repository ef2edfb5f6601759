"""Functions that change items of lists and dictionaries: of what they are given, or of what a local holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

CHANGING = (
    *("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse"),
    *("setdefault", "sort", "update"),
)
"""Methods of lists and dictionaries that change them."""


def changes_items(function: ast.FunctionDef) -> bool:
    """Whether a method changes an item of what a variable holds: `book["count"] = ...`."""
    updates = (n.func for n in ast.walk(function) if isinstance(n, ast.Call))
    return any(True for _ in _changed(function)) or any(
        isinstance(f, ast.Attribute) and f.attr in CHANGING for f in updates
    )


def changed_parameters(function: ast.FunctionDef) -> Iterator[int]:
    """The places of the parameters that a function changes items of."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    yield from (names.index(name) for name in _changed(function) if name in names)


def _changed(function: ast.FunctionDef) -> Iterator[str]:
    """The variables of a function that items are changed of."""
    for node in ast.walk(function):
        match node:
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=owner):
                pass
            case ast.Call(func=ast.Attribute(value=owner, attr=how)) if how in CHANGING:
                pass
            case _:
                continue
        while isinstance(owner, ast.Subscript):
            owner = owner.value
        if isinstance(owner, ast.Name):
            yield owner.id


def items_of(update: ast.Call) -> list[tuple[ast.expr, ast.expr]]:
    """The keys and the values that `update` is given; nothing where the text does not name them."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    match update.args:
        case []:
            pass
        case [ast.Dict(keys=keys, values=values)]:
            pairs += [(k, v) for k, v in zip(keys, values, strict=True) if k]
            if len(pairs) < len(keys):
                return []
        case _:
            return []
    for keyword in update.keywords:
        if keyword.arg is None:
            return []
        pairs.append((ast.Constant(keyword.arg), keyword.value))
    return pairs
