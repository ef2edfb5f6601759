"""Parts of arrays of NumPy that code sets, `table[:, 0] = x`, of arrays that are never changed."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import expression
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_METHODS = {ast.Add: "add", ast.Mult: "multiply"}


def with_set_parts(function: ast.FunctionDef) -> None:
    """Write `table = table.at[:, 0].set(x)` in place, where a function of arrays makes the table."""
    made = {
        part.targets[0].id
        for part in walk(function)
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and isinstance(part.value, ast.Call)
        and ast.unparse(part.value.func).startswith("@module:jnp.")
    }
    if made:
        _Parts(made).visit(function)
        located(function)


class _Parts(NodeTransformer):
    def __init__(self, made: set[str]):
        self.made = made

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        match node.targets:
            case [ast.Subscript(value=ast.Name(id=local), slice=index)] if (
                local in self.made
            ):
                return self._set(node, local, index, "set", node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        match node.target:
            case ast.Subscript(value=ast.Name(id=local), slice=index) if (
                local in self.made and type(node.op) in _METHODS
            ):
                how = _METHODS[type(node.op)]
                return self._set(node, local, index, how, node.value)
        return node

    def _set(
        self, node: ast.stmt, local: str, index: ast.expr, how: str, value: ast.expr
    ) -> ast.stmt:
        part = expression(f"{local}.at[i]", i=cloned(index))
        call = ast.Call(ast.Attribute(part, how, ast.Load()), [value], [])
        return ast.copy_location(
            ast.Assign([ast.Name(local, ast.Store())], call, lineno=0), node
        )
