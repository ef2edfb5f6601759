"""Finds calls of what a sub-layer does not offer: `self.embed.atend(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Diagnostic, Fix, closest
from mlax_scaffold.model.definition import (
    Declaration,
    Definition,
    MethodRole,
    Reference,
    Role,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.places import meets
from mlax_scaffold.reader.containers.declared import step_of
from mlax_scaffold.reader.source import Source, self_attribute, source_of, tree_of

_OFFERED = ("apply", "keyword_inputs", "non_trainables", "outline", "trainables")
"""What all hyperparameters have, and what another check refuses."""
_READ = (MethodRole.HYPER, MethodRole.PROPERTY)


def check_entries(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every finding in the methods of a layer or a block."""
    declared = {d.name: d for d in definition.declared(Role.SUB_LAYER)}
    if not declared:
        return []
    source = source_of(definition)
    for call, function, owner in _calls(definition):
        for reference in _kinds(owner, declared):
            layer = library[reference]
            if not _offers(layer, function.attr):
                _report(source, call, function, layer)
                break
    return source.diagnostics


def _calls(
    definition: Definition,
) -> Iterator[tuple[ast.Call, ast.Attribute, ast.expr]]:
    """Calls of attributes, in all methods but `setup`."""
    tree = tree_of(definition)
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for method in body:
        if not isinstance(method, ast.FunctionDef) or method.name == "setup":
            continue
        for node in ast.walk(method):
            match node:
                case ast.Call(func=ast.Attribute(value=owner) as function):
                    yield node, function, owner


def _kinds(owner: ast.expr, declared: Mapping[str, Declaration]) -> list[Reference]:
    """The layers that an expression may stand for."""
    steps = []
    while isinstance(owner, ast.Subscript):
        steps.insert(0, step_of(owner.slice))
        owner = owner.value
    found = declared.get(self_attribute(owner) or "")
    if found is None:
        return []
    if not found.members:
        return list(found.references[:1]) if bool(steps) == found.several else []
    kinds = (m.what for m in found.members if meets(m, steps))
    return [kind for kind in kinds if isinstance(kind, Reference)]


def _offers(layer: Definition, name: str) -> bool:
    fields = {h.name for h in layer.hyperparameters} | dict(layer.constants).keys()
    arrays = layer.declared(Role.TRAINABLE, Role.STATE, Role.DERIVED)
    methods = {m.name for m in layer.methods if m.role in _READ}
    return name in fields | methods | {d.name for d in arrays} or name in _OFFERED


def _report(
    source: Source, call: ast.Call, function: ast.Attribute, layer: Definition
) -> None:
    name, entries = function.attr, [m.name for m in layer.entries]
    method = layer.method(name)
    near, fix = closest(name, entries), None
    if name in entries:
        message = f"`{name}` is not there for each of the layers that this may be"
        hint = "Call it where the layer is of one kind: keep two lists, or two names."
    elif method is not None and method.role is MethodRole.OWN:
        message = f"`{name}` of {layer.name} is called by its own methods alone"
        shown = "def " + name.lstrip("_") + '(self, x: Float["..."])'
        hint = f"An entry point has a public name, and inputs with types: `{shown}`."
    elif name in {d.name for d in layer.declarations}:
        message = f"`{name}` is a layer of {layer.name}, which calls it itself"
        hint = f"Write an entry point of {layer.name} that does so."
    else:
        message = f"{layer.name} has no `{name}`"
        shown = " and ".join(f"`{entry}`" for entry in entries)
        hint = f"It has {shown}; the first is what a plain call runs."
        if near:
            line, column = source.end(function)
            start = line, column - len(name)
            fix = Fix((source.replace(start, (line, column), near),))
    source.report(call.func, message, hint, fix=fix)
