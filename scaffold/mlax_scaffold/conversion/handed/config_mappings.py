"""Configurations that are asked for settings by texts: `config["width"]`, `config.get("width", 8)`.

So they are by `getattr(config, "width", 8)`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from mlax_scaffold.conversion.handed.nested_settings import with_nested_settings
from mlax_scaffold.conversion.source.trees import is_name, literal, same, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def as_attributes(
    node: ast.ClassDef, parameter: str, place: str, known: Collection[str] | None
) -> dict[str, ast.expr]:
    """Write them as attributes, in place; what the settings are that may not be there.

    Args:
        node: the class.
        parameter: what its constructor calls the configuration.
        place: the attribute that holds it; "" for none.
        known: the settings that it has; None where the file does not tell.
    """
    made = _Attributes(parameter, place, known)
    made.defaults = {
        key: defaults[0]
        for key, defaults in made.asked(node).items()
        if all(_is_plain(d) and same(d, defaults[0]) for d in defaults)
    }
    made.visit(node)
    if known is None:
        with_nested_settings(node, made.whole)
    located(node)
    return made.optional


def _is_plain(node: ast.expr) -> bool:
    """Whether a value is a number, a truth or a text that stands there."""
    return isinstance(literal(node), bool | int | float | str)


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
    def __init__(
        self, parameter: str, place: str, known: Collection[str] | None = None
    ):
        self.parameter, self.place, self.known = parameter, place, known
        self.optional: dict[str, ast.expr] = {}
        self.defaults: dict[str, ast.expr] = {}
        """What settings are that are not there, where that is one literal."""

    def asked(self, node: ast.AST) -> dict[str, list[ast.expr]]:
        """What a class takes for each setting where it is not there."""
        found: dict[str, list[ast.expr]] = {}
        for part in walk(node):
            if isinstance(part, ast.Call) and (made := self._asked(part)) is not None:
                _, key, rest = made
                found.setdefault(key, []).append(rest or ast.Constant(None))
        return found

    def _asked(self, node: ast.Call) -> tuple[ast.expr, str, ast.expr | None] | None:
        """The configuration that is asked, for which setting, and what is taken where it is not there."""
        match node:
            case (
                ast.Call(
                    func=ast.Attribute(value=held, attr="get"),
                    args=[ast.Constant(value=str() as key), *rest],
                    keywords=[],
                )
                | ast.Call(
                    func=ast.Name(id="getattr"),
                    args=[held, ast.Constant(value=str() as key), *rest],
                    keywords=[],
                )
            ) if self.whole(held) and key.isidentifier() and len(rest) < 2:
                return held, key, rest[0] if rest else None
        return None

    def whole(self, node: ast.expr) -> bool:
        held = bool(self.place) and self_attribute(node) == self.place
        return held or is_name(node, self.parameter)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        key = literal(node.slice)
        inner = node.value
        while isinstance(inner, ast.Attribute) and not self.whole(inner):
            # What a setting of settings holds.
            inner = inner.value
        if self.whole(inner) and isinstance(key, str) and key.isidentifier():
            return ast.copy_location(ast.Attribute(node.value, key, node.ctx), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        made = self._asked(node)
        if made is None:
            return node
        held, key, rest = made
        read = ast.copy_location(ast.Attribute(held, key, ast.Load()), node)
        if self.known is not None and isinstance(node.func, ast.Name):
            return read if key in self.known or rest is None else rest
        if isinstance(node.func, ast.Name) and rest is None:
            return read
        self.optional[key] = self.defaults.get(key, ast.Constant(None))
        if rest is None or key in self.defaults:
            return read
        there = ast.Compare(read, [ast.IsNot()], [ast.Constant(None)])
        return ast.copy_location(ast.IfExp(there, cloned(read), rest), node)
