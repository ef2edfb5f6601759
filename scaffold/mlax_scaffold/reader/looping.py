"""What loops and comprehensions over layers run over, and evaluate in each pass."""

from __future__ import annotations

import ast
from typing import Any

from mlax_scaffold.reader.source import self_attribute

SEQUENCES = ("layers", "optimizers")
"""Attributes of self that are several layers or optimizers."""


def loop_layers(
    node: ast.For | ast.comprehension, attributes: dict[str, str]
) -> list[tuple[str, str]]:
    """The variables of a loop that are layers or optimizers, each with which of the two it is."""
    found = []
    for name, iterated in looped(node):
        what = attributes.get(self_attribute(iterated) or "")
        if what in SEQUENCES:
            found.append((name, what))
    return found


def looped(node: ast.For | ast.comprehension) -> list[tuple[str, ast.expr]]:
    """The plain variables of a loop, each with what it runs over."""
    return _pairs(node.target, node.iter)


def items_of_attributes(method: ast.FunctionDef) -> set[str]:
    """The variables of loops and comprehensions over attributes of self."""
    loops = (n for n in ast.walk(method) if isinstance(n, ast.For | ast.comprehension))
    return {
        name
        for loop in loops
        for name, iterated in looped(loop)
        if self_attribute(iterated)
    }


def is_part(node: ast.AST) -> bool:
    """Whether it is a slice of a sequence."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def of_parts(node: ast.For | ast.comprehension) -> bool:
    """Whether a loop runs over a slice: it has fewer passes than there are layers."""
    return any(map(is_part, ast.walk(node.iter)))


def _pairs(target: ast.expr, iterated: ast.expr) -> list[tuple[str, ast.expr]]:
    match target, iterated:
        case ast.Tuple(elts=[_, inner]), ast.Call(
            func=ast.Name(id="enumerate"), args=[first, *_]
        ):
            return _pairs(inner, first)
        case _, (
            ast.Call(func=ast.Name(id="reversed"), args=[first])
            | ast.Subscript(value=first, slice=ast.Slice())
        ):
            return _pairs(target, first)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=iterables):
            both = zip(targets, iterables, strict=False)
            return [pair for t, i in both for pair in _pairs(t, i)]
        case ast.Name(id=name), _:
            return [(name, iterated)]
    return []


def repeated(node: Any) -> list[ast.expr]:
    """What a comprehension evaluates in each pass of its last `for`, in the order of the text."""
    made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    return [*made, *node.generators[-1].ifs]
