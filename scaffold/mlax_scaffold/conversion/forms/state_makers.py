"""What equinox makes together with its state: the class itself is called.

model, state = eqx.nn.make_with_state(Net)(8, key=key)        becomes        model, state = Net(8, key=key)

A layer keeps its states, so that nothing else is to be told of them.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import NodeTransformer


def without_state_makers(origin: Origin) -> None:
    """Write such calls so in place."""
    if origin.uses("equinox"):
        _Calls(origin).visit(origin.tree)


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Call(func=maker, args=[made], keywords=[])):
                if self.origin.qualified(maker) == "equinox.nn.make_with_state":
                    node.func = made
        return node
