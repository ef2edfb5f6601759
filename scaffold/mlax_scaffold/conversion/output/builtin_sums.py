"""Sums of numbers of Python beside those of arrays, which specs call by the same name."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.source.trees import expression, is_name, name
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk


def without_builtin_sums(parts: Iterable[ast.AST]) -> None:
    """Write `sum(sizes)` as one of NumPy in place, where `sum` is that of arrays elsewhere.

    In methods, what is summed may be arrays, which are added one after the other.
    """
    parts = list(parts)
    if any(is_name(n, "@word:sum") for part in parts for n in walk(part)):
        for part in parts:
            _Sums(isinstance(part, ast.FunctionDef)).visit(part)


class _Sums(NodeTransformer):
    def __init__(self, arrays: bool):
        self.arrays = arrays
        """Whether what is summed may be arrays."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not is_name(node.func, "sum") or len(node.args) != 1 or node.keywords:
            return node
        [given] = node.args
        if isinstance(given, ast.GeneratorExp):
            given = ast.ListComp(given.elt, given.generators)
        if self.arrays:
            modules = {m: name(f"@module:{m}") for m in ("functools", "operator")}
            text = "functools.reduce(operator.add, x)"
            return ast.copy_location(expression(text, x=given, **modules), node)
        made = expression("n.sum(x).item()", n=name("@module:np"), x=given)
        return ast.copy_location(made, node)
