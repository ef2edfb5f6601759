"""A layer of several methods, none of which is `forward`, that another layer of the file is built on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.classes import called, called_so
from mlax_scaffold.reader.source import Source, class_of, self_attribute


def as_entry(
    source: Source, methods: Sequence[ast.FunctionDef], name: str, close: str
) -> Fix | None:
    """A class with a method that its kind calls by `name`; `close` is one that is misspelt, or empty."""
    fix = called_so(source, methods, name, close)
    return fix or (_first_called(source, methods) if name == "forward" else None)


def _first_called(source: Source, methods: Sequence[ast.FunctionDef]) -> Fix | None:
    """The first of the methods that others call of it as its `forward`, here and where it is called.

    `self.scaler.normalize(x)` becomes `self.scaler(x)`, and `self.scaler.denormalize(x)` stays. None where no
    other layer calls any.
    """
    owner = class_of(source.tree, methods[0]) if methods else None
    if owner is None:
        return None
    calls = [*_calls(source, owner)]
    names = {call.attr for call in calls}
    first = next((m for m in methods if m.name in names), None)
    if first is None or first.name.startswith("_"):
        return None
    own = called(source, first, "forward")
    found = [call for call in calls if call.attr == first.name]
    edits = [source.edit(call, source.text_of(call.value)) for call in found]
    return Fix((*own.edits, *edits))


def _calls(source: Source, owner: ast.ClassDef) -> Iterator[ast.Attribute]:
    """`self.scaler.normalize` of the calls that other classes make of what they have of a class."""
    for other in source.tree.body:
        if not isinstance(other, ast.ClassDef) or other is owner:
            continue
        held = {self_attribute(t) for t in _made(other, owner.name)}
        for node in walk(other):
            match node:
                case ast.Call(func=ast.Attribute(value=layer) as function):
                    if self_attribute(layer) in held - {None}:
                        yield function


def _made(other: ast.ClassDef, name: str) -> Iterator[ast.expr]:
    """What a class binds to calls of that name."""
    for node in walk(other):
        match node:
            case ast.Assign(
                targets=[target], value=ast.Call(func=ast.Name(id=made))
            ) if made == name:
                yield target
