"""Weights, states and layers in a NamedTuple, in a dictionary under the same names."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.names import uses_of_self
from mlax_scaffold.reader.source import Source


def as_dictionary(source: Source, name: str, value: ast.expr) -> Fix | None:
    """`self.p = Params(w=trainable(...))` as `self.p = {"w": ...}`, and `self.p.w` as `self.p["w"]`.

    None where it is used in any other way, as a tuple or as a value.
    """
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return None
    fields = _fields(source.tree, value.func.id)
    given = [*zip(fields, value.args, strict=False)]
    given += [(k.arg or "", k.value) for k in value.keywords]
    starred = any(isinstance(a, ast.Starred) for a in value.args)
    if starred or not fields or {n for n, _ in given} != {*fields}:
        return None
    parents = {c: p for p in ast.walk(source.tree) for c in ast.iter_child_nodes(p)}
    edits = []
    for use in uses_of_self(source.tree, name):
        parent = parents.get(use)
        match parent:
            case ast.Attribute(attr=field, ctx=ast.Load()) if field in fields:
                text = f'{source.text_of(use)}["{field}"]'
                edits.append(source.edit(parent, text))
            case ast.Assign(targets=[target], value=made) if target is use:
                if unparsed(made) != unparsed(value):
                    return None
            case _:
                return None
    items = ", ".join(f'"{field}": {source.text_of(made)}' for field, made in given)
    return Fix((source.edit(value, f"{{{items}}}"), *edits))


def _fields(tree: ast.Module, name: str) -> list[str]:
    """The fields of a NamedTuple of the module; none of anything else."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=found, bases=[base]) if found == name and (
                unparsed(base).rpartition(".")[2] == "NamedTuple"
            ):
                return [
                    s.target.id
                    for s in node.body
                    if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
                ]
    return []
