"""Divisions by the root of a mean square, as optimizers make them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.trees import name, self_attribute

_ROOTS = ("jnp.sqrt", "@module:jnp.sqrt", "@module:lax.sqrt")


class _Divisions(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        parts = _root(node.right)
        if parts is None:
            return node
        under, epsilon = parts
        added = ast.keyword("epsilon", epsilon)
        return ast.Call(name("@word:divide_by_root"), [node.left, under], [added])


def _root(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What the root is taken of, and the number that is added to it."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    root, added = node.left, node.right
    if not isinstance(root, ast.Call) or ast.unparse(root.func) not in _ROOTS:
        return None
    literal = isinstance(added, ast.Constant) and isinstance(added.value, float)
    told = literal or (self_attribute(added) or "").startswith("eps")
    return (root.args[0], added) if told and len(root.args) == 1 else None


def with_words(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements in which a number that is too small for half precision divides nothing by zero."""
    return [_Divisions().visit(part) for part in body]
