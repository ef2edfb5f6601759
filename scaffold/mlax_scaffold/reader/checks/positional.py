"""Finds hyperparameters of functions that are given by their place, as in `softmax(x, -1)`."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Diagnostic, Fix
from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, source_of


def check_positional_hyperparameters(
    definition: Definition, library: Library
) -> list[Diagnostic]:
    """Every finding in the file of a definition."""
    functions = {
        i.name: library[i.reference]
        for i in definition.imports
        if i.reference and library[i.reference].kind is Kind.FUNCTION
    }
    if not functions:
        return []
    source = source_of(definition)
    for call in (n for n in walk(source.tree) if isinstance(n, ast.Call)):
        function = functions.get(call.func.id) if isinstance(call.func, ast.Name) else 0
        if function and not any(isinstance(a, ast.Starred) for a in call.args):
            _check(source, call, function)
    return source.diagnostics


def _check(source: Source, call: ast.Call, function: Definition) -> None:
    given = [k.arg for k in call.keywords]
    if None in given:
        return
    inputs = function.entry.inputs
    fields = [h for h in function.hyperparameters if h.name not in given]
    count = len(inputs)
    needed = sum(1 for i in inputs if not i.type.optional)
    if any(h.default is None for h in fields) or any(map(_is_said, call.args[needed:])):
        # What is no array stands in the place of an input that may be left out.
        count = needed
    placed = call.args[count:]
    if not placed or len(placed) > len(fields) or any(i.several for i in inputs):
        return
    edits = [
        source.insert(value, f"{field.name}=")
        for value, field in zip(placed, fields, strict=False)
    ]
    names = ", ".join(h.name for h in function.hyperparameters)
    source.report(
        placed[0],
        f"{function.name} is given a hyperparameter by its place",
        f"It takes {names} by name.",
        fix=Fix(tuple(edits)),
    )


def _is_said(value: ast.expr) -> bool:
    """Whether it is a number, a text or several of them, and so no array."""
    try:
        return ast.literal_eval(value) is not None
    except (ValueError, TypeError):
        return False
