"""Configurations that are asked for settings as mappings are: `config["width"]`, `config.get("width", 8)`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def as_attributes(node: ast.ClassDef, parameter: str, place: str) -> set[str]:
    """Write them as attributes, in place; the settings that may not be there.

    Args:
        node: the class.
        parameter: what its constructor calls the configuration.
        place: the attribute that holds it; "" for none.
    """
    made = _Attributes(parameter, place)
    made.visit(node)
    located(node)
    return made.optional


def tested_alone(node: ast.AST, whole: Callable[[ast.expr], bool]) -> set[str]:
    """The settings that are only asked whether they are true."""
    tests: set[int] = set()
    for part in walk(node):
        if isinstance(part, ast.If | ast.IfExp | ast.While):
            tests |= {id(inner) for inner in _asked(part.test)}
    reads = [
        (part.attr, id(part) in tests)
        for part in walk(node)
        if isinstance(part, ast.Attribute) and whole(part.value)
    ]
    return {a for a, _ in reads} - {a for a, tested in reads if not tested}


def _asked(test: ast.expr) -> list[ast.expr]:
    """The parts of a condition that are true or not."""
    match test:
        case ast.BoolOp(values=values):
            return [part for value in values for part in _asked(value)]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _asked(operand)
    return [test]


class _Attributes(NodeTransformer):
    def __init__(self, parameter: str, place: str):
        self.parameter, self.place = parameter, place
        self.optional: set[str] = set()

    def _whole(self, node: ast.expr) -> bool:
        held = bool(self.place) and self_attribute(node) == self.place
        return held or is_name(node, self.parameter)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        key = literal(node.slice)
        inner = node.value
        while isinstance(inner, ast.Attribute) and not self._whole(inner):
            # What a setting of settings holds.
            inner = inner.value
        if self._whole(inner) and isinstance(key, str) and key.isidentifier():
            return ast.copy_location(ast.Attribute(node.value, key, node.ctx), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=held, attr="get"),
                args=[ast.Constant(value=str() as key), *rest],
                keywords=[],
            ) if self._whole(held) and key.isidentifier() and len(rest) < 2:
                self.optional.add(key)
                read = ast.Attribute(held, key, ast.Load())
                if not rest:
                    return ast.copy_location(read, node)
                there = ast.Compare(read, [ast.IsNot()], [ast.Constant(None)])
                made = ast.IfExp(there, cloned(read), rest[0])
                return ast.copy_location(made, node)
        return node
