"""What chex asserts of arrays: how many axes one has is read, and all else is left out.

chex.assert_rank(x, 4)           becomes    assert x.ndim == 4
chex.assert_equal_shape([a, b])  becomes    nothing
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import Removing, literal
from mlax_scaffold.conversion.source.walking import located


def without_chex_assertions(origin: Origin) -> None:
    """Write them so, in place."""
    if origin.uses("chex"):
        _Assertions(origin).visit(origin.tree)
        located(origin.tree)


class _Assertions(Removing):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        match node.value:
            case ast.Call(func=func, args=args):
                full = self.origin.qualified(func)
            case _:
                return node
        if not full.startswith("chex.assert_"):
            return node
        match args:
            case [ast.Name() as array, rank] if full == "chex.assert_rank":
                if type(literal(rank)) is int:
                    ndim = ast.Attribute(array, "ndim", ast.Load())
                    test = ast.Compare(ndim, [ast.Eq()], [rank])
                    return ast.copy_location(ast.Assert(test), node)
        return None
