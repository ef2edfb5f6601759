"""A weight that is another one under a condition: it is None there, and the other one is read for it."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.remedies.names import uses_of_self
from mlax_scaffold.reader.source import Source, dotted, self_attribute


def shared(source: Source, setup: ast.FunctionDef, node: ast.Attribute) -> Fix | None:
    """`self.b = self.a if c else trainable(...)` as a weight that is not made where `c` holds.

    None where something else is declared, or it is not the only thing that the statement does.
    """
    for statement in ast.walk(setup):
        match statement:
            case ast.Assign(targets=[target], value=value) if node in ast.walk(
                value
            ) and self_attribute(target):
                break
    else:
        return None
    text = _made(source, node, value)
    if text is None:
        return None
    name = self_attribute(target) or ""
    edits = [source.edit(value, text)]
    inside = set(map(id, ast.walk(setup)))
    for use in uses_of_self(source.tree, name):
        if id(use) in inside:
            continue
        if not isinstance(use.ctx, ast.Load):
            return None
        either = f"({source.text_of(node)} if self.{name} is None else self.{name})"
        edits.append(source.edit(use, either))
    return Fix(tuple(edits))


def _made(source: Source, node: ast.Attribute, value: ast.expr) -> str | None:
    """What is declared where the other one is not read."""
    match value:
        case ast.IfExp(test=test, body=body, orelse=made) if body is node:
            condition = f"not ({source.text_of(test)})"
            if isinstance(test, ast.Attribute | ast.Name):
                condition = f"not {source.text_of(test)}"
        case ast.IfExp(test=test, body=made, orelse=other) if other is node:
            condition = source.text_of(test)
        case _:
            return None
    if not isinstance(made, ast.Call) or dotted(made.func) != "trainable":
        return None
    return f"{source.text_of(made)} if {condition} else None"
