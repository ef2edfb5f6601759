"""Functions of a file that setup calls: before there are arrays of jax, they are computed by NumPy."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from mlax_scaffold.conversion.output.description import Described
from mlax_scaffold.conversion.shapes.set_parts import with_set_parts
from mlax_scaffold.conversion.shapes.static_arrays import numpy_of
from mlax_scaffold.conversion.source.arguments_of import defaults_of
from mlax_scaffold.conversion.source.trees import names, reached
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned

_ENDING = "_of_numbers"


def with_numpy_functions(
    definitions: Iterable[Described], beside: list[ast.stmt]
) -> list[ast.stmt]:
    """What stands beside the definitions, with such functions; one that methods call too is there twice."""
    known = {f.name: f for f in beside if isinstance(f, ast.FunctionDef)}
    definitions = list(definitions)
    early = reached(known, [n for d in definitions for s in d.setup for n in names(s)])
    late = reached(known, [n for d in definitions for m in d.methods for n in names(m)])
    early = {f for f in early if "@module:jnp" in ast.unparse(known[f])}
    twice = {f: f"{f}{_ENDING}" for f in early & late}
    made: list[ast.stmt] = []
    for definition in definitions:
        for part in definition.setup:
            _WithoutDtypes(known).visit(part)
        for method in definition.methods:
            with_set_parts(method)
    for node in beside:
        title = getattr(node, "name", "")
        static = numpy_of(cloned(node)) if title in early else None
        if static is None or title in twice:
            made.append(node)
            if isinstance(node, ast.FunctionDef):
                with_set_parts(node)
        if static is None:
            continue
        _Renamed(twice).visit(static)
        static.name = twice.get(title, title)  # type: ignore[attr-defined]
        made.append(static)
    for definition in definitions:
        for node in definition.setup:
            _Renamed(twice).visit(node)
    return made


class _WithoutDtypes(NodeTransformer):
    """Takes out the dtype of an input that setup hands to a function: there is none yet."""

    def __init__(self, known: Mapping[str, ast.FunctionDef]):
        self.known = known

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = self.known.get(getattr(node.func, "id", ""))
        defaults = defaults_of(func.args) if func is not None else {}
        node.keywords = [
            k
            for k in node.keywords
            if k.arg not in defaults or getattr(k.value, "attr", "") != "dtype"
        ]
        return node


class _Renamed(NodeTransformer):
    def __init__(self, titles: Mapping[str, str]):
        self.titles = titles

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.titles.get(node.id, node.id)
        return node
