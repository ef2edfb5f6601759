"""Locals of a constructor that nothing reads here any more: bounds that initializers are given."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import walk


def without_unread(setup: list[ast.stmt], written: Collection[str]) -> list[ast.stmt]:
    """The statements without those that bind what is written out elsewhere, where nothing else reads it."""
    read = {
        part.id
        for node in setup
        for part in walk(node)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store)
    }
    return [s for s in setup if not _binds(s, {*written} - read)]


def _binds(node: ast.stmt, names: Collection[str]) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=local)]):
            return local in names
    return False


def without_unread_lambdas(origin: Origin) -> None:
    """Leave out functions without a name that methods keep and do not read, in place."""
    for node in origin.classes.values():
        for method in node.body:
            if not isinstance(method, ast.FunctionDef):
                continue
            read = {
                p.id
                for p in walk(method)
                if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)
            }
            for part in list(method.body):
                match part:
                    case ast.Assign(targets=[ast.Name(id=title)], value=ast.Lambda()):
                        if title not in read and len(method.body) > 1:
                            method.body.remove(part)
