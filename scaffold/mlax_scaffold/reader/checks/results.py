"""Finds results of the type `LayerOutput` where no layer is given whose output that could be."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.arrays import OUTPUT
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.reader.source import source_of, tree_of


def check_results(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every finding in the results of a definition."""
    given = any(h.type.word.returns for h in definition.hyperparameters)
    source = source_of(definition)
    for method in definition.entries:
        if method.returns is None or method.returns.name != OUTPUT:
            continue
        if given and method.name == "forward":
            continue
        source.report(
            _annotation(definition, method.name),
            f"there is no layer whose output `{OUTPUT}` could be",
            "Write PyTree; it is for `forward` of a block with a field of SubLayer or Stacked.",
        )
    return source.diagnostics


def _annotation(definition: Definition, name: str) -> ast.AST:
    """The type of the result of a method, or of the function itself."""
    tree = tree_of(definition)
    return next(
        node.returns
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == name and node.returns
    )
