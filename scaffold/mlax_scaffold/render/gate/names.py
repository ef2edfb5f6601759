"""Finds helpers whose names are those of variables in the generated module."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Diagnostic, SpecError
from mlax_scaffold.model.definition import Definition, Helper
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.render.gate.imports import parsed


def check_helper_names(definition: Definition, file: Rendered) -> None:
    """Refuse a helper that a generated function reads, and binds as a variable of its own.

    Raises:
        SpecError: at the helpers.
    """
    if not definition.helpers:
        return
    helpers = {helper.name: helper for helper in definition.helpers}
    used = {n for m in definition.methods for n in m.names - m.bound if n in helpers}
    found = []
    for node in parsed(file).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in inner:
            if isinstance(function, ast.FunctionDef) and function.name not in helpers:
                clashing = sorted(used & _read_and_bound(function))
                found += [
                    _finding(definition, helpers[name], function.name)
                    for name in clashing
                ]
    if found:
        raise SpecError(found)


def _read_and_bound(function: ast.FunctionDef) -> set[str]:
    read: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) if node is not function:
                bound.add(name)
    return read & bound


def _finding(definition: Definition, helper: Helper, function: str) -> Diagnostic:
    return definition.finding(
        f"`{helper.name}`, beside {definition.name}, is also a variable of the "
        f"generated `{function}`",
        f"Choose another name, such as `_{helper.name}`.",
        helper.location,
    )
