"""Layers whose `forward` is called by its name, `self.attention.forward(x)`, as layers that are called."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer


def without_direct_calls(origin: Origin) -> None:
    """Write them as such in place; what a class calls `forward` of its own stays."""
    plain = any(framework_of(origin, c) == "plain" for c in origin.classes.values())
    if origin.uses("torch") or plain:
        _Direct().visit(origin.tree)


class _Direct(NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "forward":
            part = func.value
            inner = part.value if isinstance(part, ast.Subscript) else part
            local = isinstance(part, ast.Name) and part.id != "self"
            if self_attribute(inner) is not None or local:
                node.func = part
        return node
