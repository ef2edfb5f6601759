"""Finds methods that read more of a layer that they are given than its call: `cell.initial_carry(...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.keeping import in_dictionary
from mlax_scaffold.reader.source import self_attribute, source_of, tree_of


def check_read_of_given(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every such layer: the method gets a function, where a place of a container has all that a layer has."""
    plain = {
        d.name
        for d in definition.declared(Role.SUB_LAYER)
        if not d.members and not d.several
    }
    if not definition.kind.is_layer or not plain:
        return []
    source = source_of(definition)
    body = getattr(tree_of(definition), "body", [])
    methods = {m.name: m for m in body if isinstance(m, ast.FunctionDef)}
    for method in methods.values():
        for call in (n for n in walk(method) if isinstance(n, ast.Call)):
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
