"""What is found of the functions inside of a method, for who has other trees of the same text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.reader.closures import Called, Closures
from mlax_scaffold.reader.constructs import Effect
from mlax_scaffold.reader.source import self_attribute


def in_order(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all in it, each before its parts, and these in the order of the text."""
    yield node
    children = [*ast.iter_child_nodes(node)]
    if isinstance(
        node, ast.IfExp | ast.Dict | ast.FunctionDef | ast.arguments | ast.Call
    ):
        placed = [
            c for c in children if hasattr(c, "lineno") or isinstance(c, ast.keyword)
        ]
        if len(placed) == len(children):
            children.sort(key=lambda c: (c.lineno, c.col_offset))  # type: ignore[attr-defined]
        elif isinstance(node, ast.FunctionDef):
            children = [
                *node.decorator_list,
                *(c for c in children if c not in node.decorator_list),
            ]
    for child in children:
        yield from in_order(child)


@dataclass(frozen=True)
class Function:
    """A function inside of a method that draws or changes states."""

    effect: Effect
    expression: bool
    """Whether it can stay an expression: it draws once, and changes nothing."""


@dataclass(frozen=True)
class Marks:
    """What is found in a method, by the numbers of its nodes in the order of the text."""

    functions: Mapping[tuple[str, int], Function]
    """By kinds of node: "def", "lambda", and "value" for a method or a sub-layer as a value."""
    calls: Mapping[int, Called]


def marks(method: ast.FunctionDef, found: Closures) -> Marks:
    """What is found, for who knows other nodes of the same text."""
    counts = {"def": 0, "lambda": 0, "value": 0, "call": 0}
    functions: dict[tuple[str, int], Function] = {}
    calls: dict[int, Called] = {}
    for node in in_order(method):
        kind = kind_of(node)
        if not kind:
            continue
        number = counts[kind]
        counts[kind] += 1
        if kind == "call":
            if id(node) in found.calls:
                calls[number] = found.calls[id(node)]
        elif effect := found.functions.get(id(node)):
            functions[kind, number] = Function(effect, _expression(node, found))
    return Marks(functions, calls)


def kind_of(node: ast.AST) -> str:
    """What a node is counted among; empty where it is not counted."""
    match node:
        case ast.FunctionDef():
            return "def"
        case ast.Lambda():
            return "lambda"
        case ast.Call():
            return "call"
        case ast.Attribute() if self_attribute(node):
            return "value"
    return ""


def _expression(node: ast.AST, found: Closures) -> bool:
    inside = [n for n in ast.walk(node) if found.functions.get(id(n))]
    return all(
        not found.functions[id(n)].changes
        and found.places[id(n)] <= 1
        and not isinstance(n, ast.FunctionDef)
        for n in inside
    )
