"""Layers that a method is given, in a dictionary, of which it is given the place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.remedies.names import uses_of_self
from mlax_scaffold.reader.source import Source, self_attribute


def in_dictionary(source: Source, layer: ast.AST, parent: ast.AST | None) -> Fix | None:
    """`self.block(self.a, x)`, as `self.layers["a"]`, of which `setup` makes each layer, or list of layers.

    None where one of those that the method is given for it is declared by more than a statement.
    """
    if not isinstance(parent, ast.Call) or not isinstance(layer, ast.Attribute):
        return None
    if layer not in parent.args:
        return None
    place = parent.args.index(layer)
    # What `setup` calls is written out in the text that is read, and not in that which is edited.
    source = Source(source.path, source.written)
    classes = [n for n in ast.walk(source.tree) if isinstance(n, ast.ClassDef)]
    called = self_attribute(parent.func)
    owner = next((c for c in classes if _is_method(c, called)), None)
    setup = owner and next(_methods(owner, "setup"), None)
    if owner is None or setup is None:
        return None
    names = {
        self_attribute(call.args[place])
        for call in ast.walk(owner)
        if isinstance(call, ast.Call)
        and self_attribute(call.func) == called
        and len(call.args) > place
    }
    made = [s for s in setup.body if _declares(s) in names]
    if None in names or len(made) != len(names):
        return None
    taken = {n.attr for n in ast.walk(owner) if isinstance(n, ast.Attribute)}
    held = next(
        n for n in ("layers", f"{called}_layers", "all_layers") if n not in taken
    )
    first = min(made, key=lambda s: s.lineno)
    edits = [source.insert(first, f"self.{held} = {{}}\n{' ' * first.col_offset}")]
    for name in sorted(filter(None, names)):
        for use in uses_of_self(source.tree, name):
            edits.append(source.edit(use, f'self.{held}["{name}"]'))
    return Fix(tuple(edits), written=True)


def _methods(owner: ast.ClassDef, name: str | None) -> Iterator[ast.FunctionDef]:
    for statement in owner.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            yield statement


def _is_method(owner: ast.ClassDef, name: str | None) -> bool:
    return any(_methods(owner, name))


def _declares(statement: ast.stmt) -> str | None:
    """The attribute that a statement declares as a layer, or as a container of layers."""
    match statement:
        case ast.Assign(
            targets=[target],
            value=ast.Call() | ast.List() | ast.ListComp() | ast.Tuple() | ast.Dict(),
        ):
            return self_attribute(target)
    return None
