"""Layers of linen and haiku that nothing calls: they have no weights there, and are left out."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk


def without_uncalled_layers(origin: Origin) -> None:
    """Leave them out of the constructors of a file, in place."""
    read = {
        part.attr
        for part in walk(origin.tree)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load)
    }
    named = {p.value for p in walk(origin.tree) if isinstance(p, ast.Constant)}
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("flax", "haiku"):
            continue
        for start in node.body:
            if not isinstance(start, ast.FunctionDef):
                continue
            if start.name not in ("__init__", "setup"):
                continue
            start.body = [
                part
                for part in start.body
                if not (made := _layer(origin, part)) or made in read or made in named
            ] or [ast.copy_location(ast.Pass(), start)]


def _layer(origin: Origin, node: ast.stmt) -> str:
    """The attribute that a statement makes a layer of a library; "" for another statement."""
    match node:
        case ast.Assign(targets=[target], value=ast.Call(func=func)):
            full = origin.qualified(func)
            own = isinstance(func, ast.Name) and func.id in origin.classes
            made = full.startswith(("haiku.", "flax.linen."))
            if own or (made and full.rpartition(".")[2][:1].isupper()):
                return self_attribute(target) or ""
    return ""
