"""Finds sub-layers that draw keys in a loop: every pass would get the same key."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.spec.parse_source import Source, self_attribute


def check_draws(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every finding in the methods of a definition."""
    drawing = {
        name for name, traits in library.sub_layers(definition).items() if traits.draws
    }
    called = {name for method in definition.methods for name in method.calls}
    if not drawing & called:
        return []
    source = Source(definition.source, definition.text)
    for loop in ast.walk(ast.parse(definition.text)):
        if not isinstance(loop, ast.For | ast.While):
            continue
        for node in (n for statement in loop.body for n in ast.walk(statement)):
            if isinstance(node, ast.Call) and self_attribute(node.func) in drawing:
                source.report(
                    node,
                    f"`{ast.unparse(node.func)}` draws keys in a loop, where every pass "
                    "would get the same key",
                    "Declare a sub-layer for each pass, or call it outside of the loop.",
                )
    return source.diagnostics
