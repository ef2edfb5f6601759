"""Attention of PyTorch whose batch is the second axis: its inputs and its result are turned around.

`self.attn = nn.MultiheadAttention(dim, heads)` is one with `batch_first=True`, and `self.attn(q, k, v)[0]`
becomes `self.attn(q.transpose(0, 1), ...)[0].transpose(0, 1)`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.forms.attention_weights import (
    attention_calls,
    attention_made,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_INPUTS = ("query", "key", "value")


def without_sequence_first(origin: Origin) -> None:
    """Change the classes of a file in place."""
    for node in origin.classes.values():
        titles: set[str] = set()
        listed: set[str] = set()
        for title, call, in_list in attention_made(origin, node):
            given = {k.arg: k.value for k in call.keywords}
            if None in given or len(call.args) > 8:
                continue
            if "batch_first" not in given or literal(given["batch_first"]) is False:
                call.keywords = [k for k in call.keywords if k.arg != "batch_first"]
                call.keywords.append(ast.keyword("batch_first", ast.Constant(True)))
                (listed if in_list else titles).add(title)
        if titles or listed:
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    _Turned(attention_calls(method, titles, listed)).visit(method)
    located(origin.tree)


def _turned(node: ast.expr) -> ast.expr:
    return ast.copy_location(expression("x.transpose(0, 1)", x=node), node)


class _Turned(NodeTransformer):
    def __init__(self, calls: Callable[[ast.AST], bool]):
        self._calls = calls

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self._calls(node):
            node.args = [_turned(a) if i < 3 else a for i, a in enumerate(node.args)]
            for keyword in node.keywords:
                if keyword.arg in _INPUTS:
                    keyword.value = _turned(keyword.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        first = self._calls(node.value) and literal(node.slice) == 0
        return _turned(node) if first else node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=first), _])], value=value
            ):
                if self._calls(value):
                    back = expression(f"{first}.transpose(0, 1)")
                    turned = ast.Assign([ast.Name(first, ast.Store())], back)
                    return [node, ast.copy_location(turned, node)]
        return node
