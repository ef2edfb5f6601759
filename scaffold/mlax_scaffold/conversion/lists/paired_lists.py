"""Lists whose elements are pairs of layers, as a list for each of the pair."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.vocabulary import LISTS
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_paired_lists(origin: Origin, node: ast.ClassDef) -> None:
    """Write `layers.append([attention, feed_forward])` as two lists, in place.

    A loop `for attention, feed_forward in self.layers` goes over both then.
    """
    for attribute in _filled(origin, node):
        count = _count(node, attribute)
        if count:
            places = [f"{attribute}_{i}" for i in range(count)]
            _Split(origin, attribute, places).visit(node)
            located(node)


def _filled(origin: Origin, node: ast.ClassDef) -> list[str]:
    """The attributes that only pairs are appended to, in one place."""
    found: dict[str, list[int]] = {}
    for part in walk(node):
        attribute, given = _appended(part)
        if attribute and given is not None:
            elements = _elements(origin, given)
            found.setdefault(attribute, []).append(len(elements))
    return [a for a, sizes in found.items() if len(sizes) == 1 and sizes[0] > 1]


def _appended(node: ast.AST) -> tuple[str, ast.expr | None]:
    match node:
        case ast.Call(func=ast.Attribute(value=place, attr="append"), args=[given]):
            return self_attribute(place) or "", given
    return "", None


def _elements(origin: Origin, node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call) and origin.qualified(node.func) in LISTS:
        node = node.args[0] if len(node.args) == 1 else node
    return node.elts if isinstance(node, ast.List | ast.Tuple) else []


def _count(node: ast.ClassDef, attribute: str) -> int:
    """How many each element has, where all loops over the list take them apart; or 0."""
    counts: set[int] = set()
    reads = loops = 0
    for part in walk(node):
        if self_attribute(part) == attribute:
            reads += 1
        if isinstance(part, ast.For) and self_attribute(part.iter) == attribute:
            if not isinstance(part.target, ast.Tuple):
                return 0
            loops += 1
            counts.add(len(part.target.elts))
    # It is assigned, appended to, and looped over.
    return counts.pop() if len(counts) == 1 and reads == loops + 2 else 0


class _Split(NodeTransformer):
    def __init__(self, origin: Origin, attribute: str, places: list[str]):
        self.origin, self.attribute, self.places = origin, attribute, places

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        if self_attribute(node.targets[0]) != self.attribute:
            return node
        return [
            ast.copy_location(
                ast.Assign([_attribute(p, ast.Store())], cloned(node.value)),
                node,
            )
            for p in self.places
        ]

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        attribute, given = _appended(node.value)
        if attribute != self.attribute or given is None:
            return node
        made: list[ast.stmt] = []
        elements = _elements(self.origin, given)
        for place, element in zip(self.places, elements, strict=True):
            func = ast.Attribute(_attribute(place, ast.Load()), "append", ast.Load())
            call = ast.Call(func, [element], [])
            made.append(ast.copy_location(ast.Expr(call), node))
        return made

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if self_attribute(node.iter) == self.attribute:
            lists: list[ast.expr] = [_attribute(p, ast.Load()) for p in self.places]
            node.iter = ast.Call(ast.Name("zip", ast.Load()), lists, [])
        return node


def _attribute(title: str, context: ast.expr_context) -> ast.Attribute:
    return ast.Attribute(ast.Name("self", ast.Load()), title, context)
