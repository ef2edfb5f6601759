"""Functions of a file under `@jax.vmap`, as functions of one example that are mapped where they are used."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, located


def without_mapped_functions(origin: Origin) -> None:
    """Write them so, in place."""
    mapped: dict[str, ast.Call] = {}
    for function in origin.functions.values():
        match function.decorator_list:
            case [ast.Call(func=func, args=[inner, *rest], keywords=keywords)] if (
                origin.qualified(func) == "functools.partial"
            ):
                made = ast.Call(inner, rest, keywords)
            case [ast.expr() as inner]:
                made = ast.Call(inner, [], [])
            case _:
                continue
        if origin.qualified(made.func) == "jax.vmap" and not made.args:
            mapped[function.name] = made
            function.decorator_list = []
    if mapped:
        _Uses(mapped).visit(origin.tree)
        located(origin.tree)


class _Uses(NodeTransformer):
    def __init__(self, mapped: Mapping[str, ast.Call]):
        self.mapped = mapped

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self.mapped.get(node.id)
        if known is None or not isinstance(node.ctx, ast.Load):
            return node
        made = cloned(known)
        made.args = [node]
        return ast.copy_location(made, node)
