"""Kinds of numbers that constructors ask for by `numbers`, as the types that they are.

isinstance(shape, numbers.Integral)     becomes     isinstance(shape, int)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_KINDS = {
    "numbers.Integral": ("int",),
    "numbers.Real": ("int", "float"),
    "numbers.Number": ("int", "float"),
}


def with_number_kinds(origin: Origin) -> None:
    """Write them so in place."""
    if origin.uses("numbers"):
        _Kinds(origin).visit(origin.tree)
        located(origin.tree)


class _Kinds(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
                titles = _KINDS.get(self.origin.qualified(kind), ())
                made: list[ast.expr] = [ast.Name(t, ast.Load()) for t in titles]
                if made:
                    several = ast.Tuple(made, ast.Load())
                    node.args[1] = made[0] if len(made) == 1 else several
        return node
