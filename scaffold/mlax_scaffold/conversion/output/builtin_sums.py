"""Sums of numbers of Python beside those of arrays, which specs call by the same name."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.source.trees import expression, is_name, name


def without_builtin_sums(parts: Iterable[ast.AST]) -> None:
    """Write `sum(sizes)` as one of NumPy in place, where `sum` is that of arrays elsewhere."""
    parts = list(parts)
    if any(is_name(n, "@word:sum") for part in parts for n in ast.walk(part)):
        for part in parts:
            _Sums().visit(part)


class _Sums(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not is_name(node.func, "sum") or len(node.args) != 1 or node.keywords:
            return node
        [given] = node.args
        if isinstance(given, ast.GeneratorExp):
            given = ast.ListComp(given.elt, given.generators)
        arrays = any(is_name(n, "@word:sum") for n in ast.walk(given))
        text = "s(j.stack(x), axis=0)" if arrays else "n.sum(x).item()"
        modules = {m[0]: name(f"@module:{m}") for m in ("np", "jnp")}
        made = expression(text, s=name("@word:sum"), x=given, **modules)
        return ast.copy_location(made, node)
