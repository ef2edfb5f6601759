"""A length that is all that a layer is called with, as the size of an axis of an array."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.types import needed
from mlax_scaffold.reader.source import Source, class_of, dotted

_WHOLE = ("int", "Size", "Count")


def of_length(source: Source, method: ast.FunctionDef, argument: ast.arg) -> Fix | None:
    """`forward(self, n: int)` as `forward(self, x: Float["*batch n _"])`, and `x.shape[-2]` for `n`.

    None where it is not the only input, or where others of the file use the class, which give it numbers.
    """
    owner = class_of(source.tree, method)
    given = method.args
    alone = [a.arg for a in (*given.posonlyargs, *given.args)] == ["self", argument.arg]
    if owner is None or not alone or given.vararg or given.kwonlyargs or given.defaults:
        return None
    if argument.annotation is None or dotted(argument.annotation) not in _WHOLE:
        return None
    names = [n for n in walk(method) if isinstance(n, ast.Name)]
    read = [n for n in names if n.id == argument.arg]
    taken = {n.id for n in names} | {
        a.arg for a in walk(given) if isinstance(a, ast.arg)
    }
    others = [n for n in walk(source.tree) if isinstance(n, ast.Name)]
    used = any(n.id == owner.name for n in others)
    used = used or any(not isinstance(n.ctx, ast.Load) for n in read)
    if used or "x" in taken or not argument.arg.isidentifier():
        return None
    edits: list[Edit] = [source.edit(n, "x.shape[-2]") for n in read]
    text = f'x: Float["*batch {argument.arg} _"]'
    start, end = source.start(argument), source.end(argument.annotation)
    edits.append(source.replace(start, end, text))
    return Fix(tuple(edits), needed("Float"))
