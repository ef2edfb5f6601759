"""Finds layers in `setup` that are given to layers which take none."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition, Kind, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import source_of, tree_of


def check_parts(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every finding in the `setup` of a definition."""
    if not definition.declared(Role.SUB_LAYER):
        return []
    kinds = {
        i.name: library[i.reference].kind for i in definition.imports if i.reference
    }
    layers = {n for n, kind in kinds.items() if kind.is_layer}
    source = source_of(definition)
    for setup in walk(tree_of(definition)):
        if not (isinstance(setup, ast.FunctionDef) and setup.name == "setup"):
            continue
        for call in walk(setup):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            name = call.func.id
            if name in layers and kinds[name] is not Kind.BLOCK:
                for part in (n for a in _arguments(call) for n in walk(a)):
                    if isinstance(part, ast.Name) and part.id in layers:
                        source.report(
                            part,
                            f"`{part.id}` is a layer, which `{name}` cannot be given",
                            "Declare each layer by itself, and call them in forward.",
                        )
    return source.diagnostics


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]
