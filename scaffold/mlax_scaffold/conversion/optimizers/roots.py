"""Divisions by the root of a mean square, as optimizers make them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer

_INVERSE = ("lax.rsqrt", "@module:lax.rsqrt", "jax.lax.rsqrt")
_ROOTS = ("jnp.sqrt", "@module:jnp.sqrt", "@module:lax.sqrt")


class _Divisions(NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult):
            pairs = (node.left, node.right), (node.right, node.left)
            found = [(of, u) for of, by in pairs if (u := _under(by, _INVERSE))]
            if not found:
                return node
            of, (square, epsilon) = found[-1]
            return _divided(of, square, epsilon=ast.Constant(0.0), epsilon_root=epsilon)
        if not isinstance(node.op, ast.Div):
            return node
        if under := _under(node.right, _ROOTS):
            square, epsilon = under
            none = ast.Constant(0.0)
            return _divided(node.left, square, epsilon=none, epsilon_root=epsilon)
        parts = _root(node.right)
        if parts is None:
            return node
        under, epsilon = parts
        return _divided(node.left, under, epsilon=epsilon)


def _divided(of: ast.expr, square: ast.expr, **given: ast.expr) -> ast.expr:
    keywords = [ast.keyword(k, v) for k, v in given.items()]
    return ast.Call(name("@word:divide_by_root"), [of, square], keywords)


def _under(node: ast.expr, roots: tuple[str, ...]) -> tuple[ast.expr, ast.expr] | None:
    """The mean square that a root is taken of, and the number that is added to it there."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) not in roots:
        return None
    inner = node.args[0] if len(node.args) == 1 else None
    if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Add):
        return None
    return (inner.left, inner.right) if _is_epsilon(inner.right) else None


def _root(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What the root is taken of, and the number that is added to it."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    root, added = node.left, node.right
    if not isinstance(root, ast.Call) or ast.unparse(root.func) not in _ROOTS:
        return None
    told = _is_epsilon(added)
    return (root.args[0], added) if told and len(root.args) == 1 else None


def _is_epsilon(node: ast.expr) -> bool:
    literal = isinstance(node, ast.Constant) and isinstance(node.value, float)
    return literal or (self_attribute(node) or "").startswith("eps")


def with_words(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements in which a number that is too small for half precision divides nothing by zero."""
    return [_Divisions().visit(part) for part in body]
