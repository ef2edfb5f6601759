"""Functions of the file that a function over weights hands all of them to, as methods.

def step(params, h):                    becomes     def step(self, h):
    return h @ params.w                                 return h @ self.w

step(params, h)                                     self.step(h)
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, name
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

Reading = Callable[[ast.stmt, str], ast.stmt]
"""Writes what a statement reads of the weights, which are called so, as attributes."""


class Helpers(NodeTransformer):
    """Writes calls of such functions as calls of methods, which are kept."""

    def __init__(self, origin: Origin, params: str, reading: Reading):
        self.origin, self.params, self.reading = origin, params, reading
        self.methods: dict[str, ast.FunctionDef] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = self.origin.functions.get(getattr(node.func, "id", ""))
        at = [i for i, a in enumerate(node.args) if is_name(a, self.params)]
        if function is None or len(at) != 1 or function.args.vararg is not None:
            return node
        places = [a.arg for a in function.args.args]
        if at[0] >= len(places) - len(function.args.defaults):
            return node
        known = self.methods.get(function.name)
        if known is None and not self._added(function, at[0]):
            return node
        node.args = [a for i, a in enumerate(node.args) if i != at[0]]
        node.func = ast.copy_location(
            ast.Attribute(name("self"), function.name, ast.Load()), node.func
        )
        return node

    def _added(self, function: ast.FunctionDef, at: int) -> bool:
        """Whether a function is a method then: it only reads parts of the weights, or hands them on."""
        made = cloned(function)
        given = made.args.args.pop(at).arg
        made.decorator_list = []
        made.args.args.insert(0, ast.arg("self"))
        self.methods[made.name] = made
        inner = Helpers(self.origin, given, self.reading)
        inner.methods = self.methods
        made.body = [self.reading(inner.visit(s), given) for s in made.body]
        if any(is_name(p, given) for s in made.body for p in walk(s)):
            del self.methods[made.name]
            return False
        return True
