"""Attributes of PyTorch's classes that are a function or a layer: `self.cond = lambda x: 0 * x`.

The function is written out where the attribute is called and the layer is not there.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import replaced, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_default_functions(origin: Origin) -> None:
    """Write them so in place, where a layer takes the function's place under one condition."""
    if not origin.uses("torch"):
        return
    for node in origin.classes.values():
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        if isinstance(start, ast.FunctionDef):
            for part in list(start.body):
                if isinstance(part, ast.Assign) and isinstance(part.value, ast.Lambda):
                    _write(node, start, part, part.value)
    located(origin.tree)


def _write(
    node: ast.ClassDef, start: ast.FunctionDef, begun: ast.Assign, made: ast.Lambda
) -> None:
    attribute = self_attribute(begun.targets[0])
    given = made.args
    if attribute is None or given.vararg or given.kwarg or given.defaults:
        return
    stores = [
        p
        for p in walk(node)
        if self_attribute(p) == attribute and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
    ]
    choices = [
        s
        for s in start.body
        if isinstance(s, ast.If)
        and len(s.body) == 1
        and not s.orelse
        and isinstance(s.body[0], ast.Assign)
        and self_attribute(s.body[0].targets[0]) == attribute
    ]
    if len(stores) != 2 or len(choices) != 1:
        return
    calls = _Calls(attribute, made)
    other = cloned([m for m in node.body if m is not start])
    for method in other:
        calls.visit(method)
    if calls.failed:
        return
    for i, method in enumerate(m for m in node.body if m is not start):
        node.body[node.body.index(method)] = other[i]
    [choice] = choices
    first = choice.body[0]
    assert isinstance(first, ast.Assign)
    first.value = ast.copy_location(
        ast.IfExp(choice.test, first.value, ast.Constant(None)), first
    )
    start.body[start.body.index(choice)] = first
    start.body.remove(begun)


class _Calls(NodeTransformer):
    def __init__(self, attribute: str, made: ast.Lambda):
        self.attribute, self.made = attribute, made
        self.failed = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self_attribute(node.func) != self.attribute:
            self.generic_visit(node)
            return node
        names = [a.arg for a in self.made.args.args]
        plain = all(isinstance(a, ast.Name | ast.Constant) for a in node.args)
        if len(names) != len(node.args) or node.keywords or not plain:
            self.failed = True
            return node
        body = replaced(self.made.body, dict(zip(names, node.args, strict=True)))
        there = ast.Compare(cloned(node.func), [ast.IsNot()], [ast.Constant(None)])  # fmt: skip
        made = ast.IfExp(there, node, body)
        for part in walk(made):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node)
        return made

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        # Anything else is done with the attribute.
        self.failed = self.failed or self_attribute(node) == self.attribute
        self.generic_visit(node)
        return node
