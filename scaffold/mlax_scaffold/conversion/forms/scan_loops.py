"""Scans over layers, or over their weights, as loops."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import is_name, name
from mlax_scaffold.conversion.source.walking import walk


def scan_as_loop(
    node: ast.stmt,
    target: ast.Name,
    carry: str,
    layer: str,
    layers: ast.expr,
    first: ast.expr,
    inner: list[ast.stmt],
    after: ast.expr,
) -> list[ast.stmt]:
    """The loop that a scan over layers becomes, with what stands before it and after it.

    Args:
        node: the statement that scans.
        target: what keeps its result.
        carry: what its step calls what it hands on.
        layer: what that calls a layer.
        layers: the layers.
        first: what is handed to the first one.
        inner: the statements of the step.
        after: what the step hands on.
    """
    place = ast.Name(carry, ast.Store())
    made: list[ast.stmt] = []
    if not is_name(first, carry):
        made.append(ast.Assign([place], first))
    body = [*inner]
    if not is_name(after, carry):
        body.append(ast.Assign([place], after))
    made.append(ast.For(ast.Name(layer, ast.Store()), layers, body, []))
    if target.id != carry:
        made.append(ast.Assign([target], name(carry)))
    for part in made:
        ast.copy_location(part, node)
        for deep in walk(part):
            if isinstance(deep, ast.expr | ast.stmt) and not hasattr(deep, "lineno"):
                ast.copy_location(deep, node)
    return made
