"""Finds methods that read more of what is a function than its call: `cell.initial_carry(...)`.

A layer that is given to a method is one, unless it stands in a container, and so is one that a tuple holds.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.keeping import in_dictionary
from mlax_scaffold.reader.source import Source, self_attribute, source_of, tree_of


def check_read_of_given(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every such layer: the method gets a function, where a place of a container has all that a layer has."""
    made = definition.declared(Role.SUB_LAYER)
    declared = {d.name for d in made}
    plain = {d.name for d in made if not d.members and not d.several}
    if not definition.kind.is_layer:
        return []
    source = source_of(definition)
    imported = {i.name: r for i in definition.imports if (r := i.reference)}
    layers = {name for name, r in imported.items() if library[r].kind.is_layer}
    body = getattr(tree_of(definition), "body", [])
    methods = {m.name: m for m in body if isinstance(m, ast.FunctionDef)}
    for method in methods.values():
        for call in (n for n in walk(method) if isinstance(n, ast.Call)):
            _check_kind(source, call, declared, layers)
            for value, name in _read(call, methods):
                if self_attribute(value) in plain:
                    source.report(
                        value,
                        f"`{name}` is read of `{unparsed(value)}`, of which the method gets the call alone",
                        "Layers that stand in a dictionary are given as what they are: "
                        '`self.layers = {"a": ...}`, and `self.layers["a"]`.',
                        fix=in_dictionary(source, value, call),
                    )
    return source.diagnostics


def _check_kind(
    source: Source, call: ast.Call, declared: Collection[str], layers: Collection[str]
) -> None:
    """Report `isinstance(layer, Linear)` of what is no layer that `setup` declares."""
    match call:
        case ast.Call(func=ast.Name(id="isinstance"), args=[asked, kinds]):
            pass
        case _:
            return
    named = {n.id for n in walk(kinds) if isinstance(n, ast.Name)} & {*layers}
    of = asked
    while isinstance(of, ast.Subscript):
        of = of.value
    if named and self_attribute(of) not in declared:
        source.report(
            asked,
            f"`{unparsed(asked)}` is a function here, of whose kind nothing is known",
            "Ask of a layer that `setup` declares, or of one in a list or a dictionary of it: "
            f"`isinstance(self.layers[i], {min(named)})`.",
        )


def _read(
    call: ast.Call, methods: Mapping[str, ast.FunctionDef]
) -> Iterator[tuple[ast.expr, str]]:
    """What a method is given by place, with the attribute that it reads of it."""
    method = methods.get(self_attribute(call.func) or "")
    if method is None:
        return
    static = any(unparsed(d) == "staticmethod" for d in method.decorator_list)
    parameters = method.args.args[0 if static else 1 :]
    for parameter, value in zip(parameters, call.args, strict=False):
        for node in walk(method):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=read):
                    if name == parameter.arg:
                        yield value, read
                        break
