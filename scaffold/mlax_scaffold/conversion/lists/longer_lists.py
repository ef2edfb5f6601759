"""Which lists statements make longer."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.conversion.source.known_values import items_of
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk

LONGER = ("append", "extend", "insert", "add_module")


def is_longer(node: ast.AST) -> bool:
    """Whether an expression makes a list longer."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LONGER
    )


def grown_in(node: ast.AST) -> list[ast.expr]:
    """Where the lists stand that a statement makes longer."""
    found: list[ast.expr] = []
    for part in walk(node):
        match part:
            case ast.Call(func=ast.Attribute(value=owner)) if is_longer(part):
                found.append(owner)
            case ast.AugAssign(target=owner, op=ast.Add(), value=value):
                if items_of(value) is not None or isinstance(value, ast.ListComp):
                    found.append(owner)
    return found


def longer(body: Sequence[ast.stmt]) -> set[str]:
    """The lists that statements make longer: `layers`, `self.blocks`."""
    found = {title_of(owner) for part in body for owner in grown_in(part)}
    return {title for title in found if title is not None}


def title_of(node: ast.AST) -> str | None:
    """What a local or an attribute is called: `layers`, `self.blocks`."""
    if isinstance(node, ast.Name):
        return node.id
    title = self_attribute(node)
    return f"self.{title}" if title is not None else None
