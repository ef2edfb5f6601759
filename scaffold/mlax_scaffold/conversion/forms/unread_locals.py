"""Locals of a constructor that nothing reads here any more: bounds that initializers are given."""

from __future__ import annotations

import ast
from collections.abc import Collection


def without_unread(setup: list[ast.stmt], written: Collection[str]) -> list[ast.stmt]:
    """The statements without those that bind what is written out elsewhere, where nothing else reads it."""
    read = {
        part.id
        for node in setup
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store)
    }
    return [s for s in setup if not _binds(s, {*written} - read)]


def _binds(node: ast.stmt, names: Collection[str]) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=local)]):
            return local in names
    return False
