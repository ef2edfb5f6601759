"""Arrays that are computed of hyperparameters alone, by NumPy."""

from __future__ import annotations

import ast
from typing import TypeVar

from mlax_scaffold.conversion.trees import (
    name,
)

Tree = TypeVar("Tree", bound=ast.AST)


class _Numpy(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return name("@module:np") if node.id == "@module:jnp" else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        text = ast.unparse(node.func)
        if text == "@module:np.expand_dims":
            return node
        # NumPy has its own dtypes; what reads the array casts it.
        kept = [a for a in node.args if not ast.unparse(a).endswith(".dtype")]
        node.args = kept
        node.keywords = [k for k in node.keywords if k.arg != "dtype"]
        if text.endswith(".astype"):
            return node.func.value if isinstance(node.func, ast.Attribute) else node
        if text.startswith("@word:"):
            word = text[6:]
            node.func = ast.Attribute(name("@module:np"), word, ast.Load())
        if text.startswith("@module:lax."):
            node.func = ast.Attribute(name("@module:np"), text[12:], ast.Load())
        return node


def numpy_of(node: Tree) -> Tree:
    """The same expression, computed by NumPy when hyperparameters are known."""
    return _Numpy().visit(node)
