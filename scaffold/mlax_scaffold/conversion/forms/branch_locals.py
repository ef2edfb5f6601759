"""Locals that a branch of a constructor sets at its end, as expressions.

if wide or stride > 1:                       if wide or stride > 1:
    self.down = nn.Conv2d(size, wide, 2)         self.down = nn.Conv2d(size, wide, 2)
    size = wide                              else:
else:                              becomes       self.down = nn.Identity()
    self.down = nn.Identity()                size = wide if wide or stride > 1 else size
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import name
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def without_branch_locals(origin: Origin) -> None:
    """Write them so, in place, where a branch sets one of them, beside what it makes."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is not None:
            start.body = [made for part in start.body for made in _apart(part)]
    located(origin.tree)


def _apart(node: ast.stmt) -> list[ast.stmt]:
    match node:
        case ast.If(
            test=test,
            body=[
                _,
                *_,
                ast.Assign(targets=[ast.Name(id=local)], value=value) as last,
            ],
            orelse=[_, *_],
        ) if _may_follow(node, test, local):
            node.body.pop()
            chosen = ast.IfExp(cloned(test), value, name(local))
            return [node, ast.copy_location(ast.Assign(last.targets, chosen), last)]
    return [node]


def _may_follow(node: ast.If, test: ast.expr, local: str) -> bool:
    """Whether the condition is the same behind the branches, which set the local nowhere else."""
    changed = _changes([*node.body[:-1], *node.orelse])
    called = any(isinstance(part, ast.Call) for part in walk(test))
    return not called and local not in changed and not changed & _reads(test)


def _changes(parts: Iterable[ast.stmt]) -> set[str]:
    """What statements set, as it is written."""
    return {
        ast.unparse(node)
        for part in parts
        for node in walk(part)
        if isinstance(node, ast.Name | ast.Attribute)
        and not isinstance(node.ctx, ast.Load)
    }


def _reads(test: ast.expr) -> set[str]:
    """What a condition reads, as it is written."""
    return {
        ast.unparse(node)
        for node in walk(test)
        if isinstance(node, ast.Name | ast.Attribute)
    }
