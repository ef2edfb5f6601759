"""Finds calls of what a layer does not offer, of one that a block is given too: `self.embed.atend(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Diagnostic, Fix
from mlax_scaffold.model.definition import (
    Declaration,
    Definition,
    MethodRole,
    Reference,
    Role,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.places import meets
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.containers.declared import step_of
from mlax_scaffold.reader.looping import loop_layers
from mlax_scaffold.reader.remedies.entry_types import as_entry
from mlax_scaffold.reader.source import Source, self_attribute, source_of, tree_of
from mlax_scaffold.spelling import misspelt

_OFFERED = ("apply", "keyword_inputs", "non_trainables", "outline", "trainables")
"""What all hyperparameters have, and what another check refuses."""
_CARRY = "initial_carry"
"""What the hyperparameters of every cell have."""
_READ = (MethodRole.HYPER, MethodRole.PROPERTY)


def check_entries(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every finding in the methods of a layer or a block."""
    declared = {d.name: d for d in definition.declared(Role.SUB_LAYER)}
    given = {h.name: h.type.word.attribute for h in definition.structural()}
    if not (definition.kind.is_layer and (declared or given)):
        return []
    source = source_of(definition)
    for method in _methods(definition):
        several = {
            name
            for loop in walk(method)
            if isinstance(loop, ast.For | ast.comprehension)
            for name, _ in loop_layers(loop, given)
        }
        for call, function, owner in _calls(method):
            one = given.get(self_attribute(owner) or "") == "layer"
            if one or (isinstance(owner, ast.Name) and owner.id in several):
                _check_given(source, call, function, library)
            for reference in _kinds(owner, declared):
                layer = library[reference]
                if not _offers(layer, function.attr):
                    _report(source, call, function, layer)
                    break
    return source.diagnostics


def _methods(definition: Definition) -> list[ast.FunctionDef]:
    """All methods but `setup`."""
    tree = tree_of(definition)
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return [m for m in body if isinstance(m, ast.FunctionDef) and m.name != "setup"]


def _calls(
    method: ast.FunctionDef,
) -> Iterator[tuple[ast.Call, ast.Attribute, ast.expr]]:
    """Calls of attributes."""
    for node in walk(method):
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


def _check_given(
    source: Source, call: ast.Call, function: ast.Attribute, library: Library
) -> None:
    """A layer that is given may be of any kind: methods of its hyperparameters alone can be called."""
    name = function.attr
    layers = [d for d in library if d.kind.is_layer]
    if name in (*_OFFERED, _CARRY) or any(_offers(layer, name) for layer in layers):
        return
    having = [d.name for d in layers if name in {m.name for m in d.entries}]
    made = f"self.layer = {having[0] if having else 'Layer'}(...)"
    source.report(
        call.func,
        f"`{name}` is called of a layer that is given, which may be of any kind",
        f"Declare the layer in `setup`, `{made}`, to call its `{name}`. One that is given "
        "has a plain call, and the methods of its hyperparams.",
    )


def _report(
    source: Source, call: ast.Call, function: ast.Attribute, layer: Definition
) -> None:
    name, entries = function.attr, [m.name for m in layer.entries]
    method = layer.method(name)
    near, fix = misspelt(name, entries), None
    if name in entries:
        message = f"`{name}` is not there for each of the layers that this may be"
        hint = "Call it where the layer is of one kind: keep two lists, or two names."
    elif method is not None and method.role is MethodRole.OWN:
        message = f"`{name}` of {layer.name} is called by its own methods alone"
        shown = "def " + name.lstrip("_") + '(self, x: Float["..."])'
        hint = f"An entry point has a public name, and inputs with types: `{shown}`."
        fix = as_entry(source, layer.name, name)
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
