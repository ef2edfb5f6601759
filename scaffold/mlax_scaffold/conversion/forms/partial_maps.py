"""Functions that map over trees and are given what they map, as calls of what they are.

zeros = functools.partial(jax.tree.map, jnp.zeros_like)
mu = zeros(params)                       becomes       mu = jax.tree.map(jnp.zeros_like, params)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, targets
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

MAPS = ("jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map")
"""What maps a function over the leaves of trees."""


def without_partial_maps(origin: Origin) -> None:
    """Write them so, in place."""
    if not origin.uses("jax"):
        return
    for scope in walk(origin.tree):
        if isinstance(scope, ast.Module | ast.FunctionDef):
            for node in list(scope.body):
                if (found := _partial(origin, node)) is not None and _once(
                    scope, found[0]
                ):
                    scope.body.remove(node)
                    _Calls(*found).visit(scope)
    located(origin.tree)
    origin.forget("assigned")


def _partial(origin: Origin, node: ast.stmt) -> tuple[str, ast.Call] | None:
    """The name of such a function, and its partial call."""
    match node:
        case ast.Assign(targets=[ast.Name(id=title)], value=ast.Call() as value):
            called = [origin.qualified(part) for part in (value.func, *value.args[:1])]
            if called[:1] == ["functools.partial"] and called[-1] in MAPS:
                return (title, value) if not value.keywords else None
    return None


def _once(scope: ast.Module | ast.FunctionDef, title: str) -> bool:
    """Whether a name is bound nowhere else, and only called."""
    bound = [t for part in scope.body for t in targets(part)]
    parts = [*walk(scope)]
    given = [p.arg for p in parts if isinstance(p, ast.arg)]
    calls = [
        p.func for p in parts if isinstance(p, ast.Call) and is_name(p.func, title)
    ]
    read = [p for p in parts if is_name(p, title) and isinstance(p.ctx, ast.Load)]  # type: ignore[attr-defined]
    return [*bound, *given].count(title) == 1 and len(read) == len(calls)


class _Calls(NodeTransformer):
    def __init__(self, title: str, made: ast.Call):
        self.title, self.made = title, made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if is_name(node.func, self.title):
            func, *given = cloned(self.made.args)
            node.func, node.args = func, [*given, *node.args]
        return node
