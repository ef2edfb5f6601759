"""Classes of linen whose activations are computed again for gradients, as the classes that they are.

block = Block
if self.remat:
    block = nn.remat(block)            becomes    x = Block(self.size)(x)
x = block(self.size)(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, name, same, with_names
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_AGAIN = ("flax.linen.remat", "flax.linen.checkpoint", "flax.linen.jit")


def without_rematerialized(origin: Origin) -> None:
    """Write them so, in place, in a file of flax that has any."""
    calls = [n for n in walk(origin.tree) if isinstance(n, ast.Call)]
    if not any(origin.qualified(c.func) in _AGAIN for c in calls):
        return
    _Again(origin).visit(origin.tree)
    for node in walk(origin.tree):
        if isinstance(node, ast.FunctionDef):
            _named(origin, node)
    located(origin.tree)


class _Emptying(NodeTransformer):
    """Leaves out branches of which nothing is left."""

    def visit_If(self, node: ast.If) -> ast.stmt | None:
        self.generic_visit(node)
        if node.body:
            return node
        if not node.orelse:
            return None
        node.test = ast.UnaryOp(ast.Not(), node.test)
        node.body, node.orelse = node.orelse, []
        return node


class _Again(_Emptying):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        again = self.origin.qualified(node.func) in _AGAIN and len(node.args) == 1
        return node.args[0] if again else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        named = isinstance(node.body, ast.Name | ast.Attribute)
        return node.body if named and same(node.body, node.orelse) else node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        self.generic_visit(node)
        match node:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                return None if is_name(value, local) else node
        return node


def _named(origin: Origin, function: ast.FunctionDef) -> None:
    """Write locals that are one class of the file, wherever they are bound, out."""
    bound = [n for part in function.body for n in stored_names(part)]
    found: dict[str, list[str]] = {}
    for part in walk(function):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Name(id=title)):
                found.setdefault(local, []).append(title)
    known: dict[str, ast.expr] = {
        local: name(titles[0])
        for local, titles in found.items()
        if len(set(titles)) == 1
        and titles[0] in origin.classes
        and bound.count(local) == len(titles)
    }
    if known:
        _Unbound(known).visit(function)
        function.body[:] = [with_names(s, known) for s in function.body]


class _Unbound(_Emptying):
    """Takes out where such locals are bound."""

    def __init__(self, known: dict[str, ast.expr]):
        self.known = known

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        match node.targets:
            case [ast.Name(id=local)] if local in self.known:
                return None
        return node
