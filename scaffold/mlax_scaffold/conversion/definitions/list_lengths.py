"""Lengths of lists of layers that declarations compute with: `2 ** len(self.encoders)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned


def with_list_lengths(setup: list[ast.stmt]) -> list[ast.stmt]:
    """The declarations, in which the length of a list that is declared before is told so."""
    made: list[ast.stmt] = []
    sources: dict[str, ast.expr] = {}
    for part in setup:
        made.append(_Lengths(sources).visit(part) if sources else part)
        match part:
            case ast.Assign(
                targets=[ast.Attribute() as target],
                value=ast.ListComp(generators=[ast.comprehension(iter=source, ifs=[])]),
            ) if (attribute := self_attribute(target)) is not None:
                sources[attribute] = source
    return made


class _Lengths(NodeTransformer):
    def __init__(self, sources: Mapping[str, ast.expr]):
        self.sources = sources

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=func, args=[held]) if is_name(func, "len"):
                source = self.sources.get(self_attribute(held) or "")
                return node if source is None else _length(source)
        return node


def _length(source: ast.expr) -> ast.expr:
    match source:
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            return cloned(count)
        case ast.Call(func=ast.Name(id="enumerate" | "reversed"), args=[inner, *_]):
            return _length(inner)
    whole = isinstance(source, ast.Name | ast.Attribute)
    held = cloned(source)
    given = held if whole else ast.Call(ast.Name("tuple", ast.Load()), [held], [])
    return ast.Call(ast.Name("len", ast.Load()), [given], [])
