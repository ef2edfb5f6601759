"""A method that other layers call, as an entry point: its inputs get the types that its body says."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.reader.inputs import typed
from mlax_scaffold.reader.source import Source, is_none


def as_entry(source: Source, layer: str, name: str) -> Fix | None:
    """The types of all inputs; None where one has none, or the layer stands in another file."""
    found = [
        method
        for owner in source.tree.body
        if isinstance(owner, ast.ClassDef) and owner.name == layer
        for method in owner.body
        if isinstance(method, ast.FunctionDef) and method.name == name
    ]
    if len(found) != 1 or name.startswith("_") or found[0].decorator_list:
        return None
    [method] = found
    given = method.args
    if given.vararg or given.kwarg or given.posonlyargs:
        return None
    plain = [None] * (len(given.args) - len(given.defaults))
    rows = [*zip(given.args, [*plain, *given.defaults], strict=True)][1:]
    rows += zip(given.kwonlyargs, given.kw_defaults, strict=True)
    edits, imports = [], []
    for arg, default in rows:
        if arg.annotation is not None:
            continue
        if default is not None and not is_none(default):
            return None
        fix = typed(source, method, arg, default)
        if fix is None:
            return None
        first = edits[0].text if edits else ""
        edits += [_open(e, first) for e in fix.edits]
        imports += fix.imports
    return Fix(tuple(edits), tuple(dict.fromkeys(imports))) if edits else None


def _open(edit: Edit, first: str) -> Edit:
    """What only goes with the first input, and a part of a tuple, may be stretched to its shape."""
    alike = edit.text.removesuffix(" | None") == first
    if not alike and not edit.text.startswith(": tuple["):
        return edit
    return replace(edit, text=re.sub(r'\["[^"]*"\]', '["..."]', edit.text))
