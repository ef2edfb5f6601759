"""Declarations that have the name of a field, or whose initializer has it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Declaration, Role
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.names import attribute, uses_of_self
from mlax_scaffold.reader.source import Source

_SUFFIXES = {Role.SUB_LAYER: "_layer", Role.TRAINABLE: "_weight"}


def beside_field(
    source: Source, methods: Iterable[ast.FunctionDef], made: Declaration
) -> Fix | None:
    """`self.dropout = Dropout(self.dropout)` by a name of its own.

    What `setup` reads up to its last assignment is the field, and the declaration is what stands after it.
    """
    methods = list(methods)
    new = made.name + _SUFFIXES.get(made.role, "_")
    if any(True for method in methods for _ in uses_of_self(method, new)):
        return None
    setup = next(m for m in methods if m.name == "setup")
    stores = [
        s
        for s in ast.walk(setup)
        if isinstance(s, ast.Assign)
        and any(_stored(target, made.name) for target in s.targets)
    ]
    if not stores:
        return None
    last = max(source.end(statement) for statement in stores)
    edits = [
        edit
        for method in methods
        for use in uses_of_self(method, made.name)
        if method is not setup
        or isinstance(use.ctx, ast.Store)
        or source.start(use) > last
        for edit in attribute(source, use, new).edits
    ]
    return Fix(tuple(edits))


def _stored(target: ast.expr, name: str) -> bool:
    return any(isinstance(u.ctx, ast.Store) for u in uses_of_self(target, name))


def default_of_weight(
    source: Source, methods: Iterable[ast.FunctionDef], name: str
) -> Fix | None:
    """`trainable(self.name_initializer, ...)` of `self.name` with the field's default in its place.

    `init` has a parameter of that name for the weight. None where something else reads the field.
    """
    methods = list(methods)
    given = f"{name}_initializer"
    uses = [use for method in methods for use in uses_of_self(method, given)]
    field = _field(source, given, methods[0])
    if len(uses) != 1 or field is None or field.value is None:
        return None
    for node in (n for method in methods for n in ast.walk(method)):
        match node:
            case ast.Assign(
                targets=[target],
                value=ast.Call(func=ast.Name(id="trainable"), args=[first, *_]),
            ) if first is uses[0] and _stored(target, name):
                default = source.text_of(field.value)
                return Fix((removed(source, field), source.edit(first, default)))
    return None


def _field(source: Source, name: str, method: ast.FunctionDef) -> ast.AnnAssign | None:
    """The field of that name of the class that a method stands in."""
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef):
            lines = node.lineno, node.end_lineno or node.lineno
            for field in node.body if lines[0] < method.lineno <= lines[1] else ():
                match field:
                    case ast.AnnAssign(target=ast.Name(id=target)) if target == name:
                        return field
    return None
