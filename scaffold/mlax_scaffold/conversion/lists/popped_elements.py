"""What constructors take out of lists as they are run: `ups.append(Block(width + widths.pop(), width))`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.lists.run_calls import UnknownError
from mlax_scaffold.conversion.source.trees import AT_ONCE, LATER, literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


def without_pops(
    node: ast.stmt, list_of: Callable[[ast.expr], ast.List | None]
) -> ast.stmt:
    """A statement with the elements that it takes out of lists, which are out of them then.

    Args:
        node: of a constructor.
        list_of: the list that an expression names; None where it is none that is known.

    Raises:
        UnknownError: it is not known whether, or what, it takes out.
    """
    pops = any(_is_pop(p) for p in walk(node))
    if not isinstance(node, AT_ONCE) or not pops:
        return node
    if isinstance(node, ast.Expr) and _is_pop(node.value):
        # What is taken out is left there, and the list is shorter.
        left = _Pops(list_of).visit(cloned(node.value))
        return node if _is_pop(left) else ast.copy_location(ast.Pass(), node)
    made = _Pops(list_of).visit(cloned(node))
    assert isinstance(made, ast.stmt)
    return made


def _is_pop(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "pop"
    )


class _Pops(NodeTransformer):
    def __init__(self, list_of: Callable[[ast.expr], ast.List | None]):
        self.list_of = list_of

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, LATER) and any(
            isinstance(p, ast.Call) and _is_pop(p) and self._held(p) is not None
            for p in walk(node)
        ):
            raise UnknownError
        return super().visit(node)

    def _held(self, node: ast.Call) -> ast.List | None:
        assert isinstance(node.func, ast.Attribute)
        return self.list_of(node.func.value)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        held = self._held(node) if _is_pop(node) else None
        if held is None:
            return node
        at = literal(node.args[0]) if node.args else -1
        starred = any(isinstance(e, ast.Starred) for e in held.elts)
        if type(at) is not int or starred or not -len(held.elts) <= at < len(held.elts):
            raise UnknownError
        return ast.copy_location(held.elts.pop(at), node)
