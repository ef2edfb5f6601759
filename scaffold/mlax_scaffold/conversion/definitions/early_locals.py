"""Locals of a constructor that stand where they are read, as what later methods compute fills weights."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import names


def with_early_locals(setup: list[ast.stmt]) -> list[ast.stmt]:
    """The declarations, with each local that is bound once before the first one that reads it."""
    made = [*setup]
    bound = [_local(part) for part in setup]
    for part in setup:
        local = _local(part)
        if not local or bound.count(local) > 1:
            continue
        at = made.index(part)
        first = next((i for i, s in enumerate(made[:at]) if local in names(s)), at)
        before = {_local(s) for s in made[first:at]}
        if first < at and not names(part) - {local} & before:
            made.insert(first, made.pop(at))
    return made


def _local(node: ast.stmt) -> str:
    """The local that a statement binds; "" of another one."""
    match node:
        case ast.Assign(targets=[ast.Name(id=local)]):
            return local
    return ""
