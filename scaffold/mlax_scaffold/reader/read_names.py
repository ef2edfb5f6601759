"""Names that are read of a module: those that its imports and statements bind."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def is_read(tree: ast.Module, node: ast.Import | ast.ImportFrom) -> bool:
    """Whether anything reads a name that an import binds."""
    bound = {(a.asname or a.name).partition(".")[0] for a in node.names}
    return not bound.isdisjoint(read_of_module(tree))


def bound_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that nodes bind: as parameters, or by assigning to them."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def read_of_module(
    scope: ast.AST, local: frozenset[str] = frozenset()
) -> Iterator[str]:
    """The names that are read and that no function around them binds."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield from read_of_module(node, local | bound_in(ast.walk(node)))
            continue
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and node.id not in local
        ):
            yield node.id
        yield from read_of_module(node, local)
