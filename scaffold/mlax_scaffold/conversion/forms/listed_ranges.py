"""Arrays of a list that arithmetic makes of a range, as that arithmetic of the range: its size is told then.

jnp.array([2**i for i in range(low, high)])        becomes        2 ** jnp.arange(low, high)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, replaced
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_ARRAYS = ("jax.numpy.array", "jax.numpy.asarray")


def without_listed_ranges(origin: Origin) -> None:
    """Write them so, in place."""
    if origin.uses("jax"):
        _Ranges(origin).visit(origin.tree)
        located(origin.tree)


class _Ranges(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=module) as func,
                args=[
                    ast.ListComp(
                        elt=element,
                        generators=[
                            ast.comprehension(
                                target=ast.Name(id=local),
                                iter=ast.Call(
                                    func=ast.Name(id="range"),
                                    args=[*ends],
                                    keywords=[],
                                ),
                                ifs=[],
                            )
                        ],
                    )
                ],
                keywords=[],
            ) if self.origin.qualified(func) in _ARRAYS and ends:
                if not _is_arithmetic(element, local):
                    return node
                arange = ast.Attribute(module, "arange", ast.Load())
                counted = ast.Call(arange, [*ends], [])
                return ast.copy_location(replaced(element, {local: counted}), node)
        return node


def _is_arithmetic(node: ast.expr, local: str) -> bool:
    """Whether an expression is numbers and a name, added, multiplied and raised, and has the name once."""
    plain = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.operator, ast.unaryop)
    parts = [*walk(node)]
    return sum(is_name(p, local) for p in parts) == 1 and all(
        isinstance(p, (*plain, ast.expr_context, ast.Attribute)) for p in parts
    )
