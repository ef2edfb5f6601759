"""The shapes of arrays that functions of jax make of numbers, and draw."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.source import self_attribute

_JNP = "jax.numpy."
_RANDOM = "jax.random."
_EACH = frozenset(
    f"{_JNP}{name}"
    for name in ("abs", "cos", "exp", "log", "log2", "negative", "sin", "sqrt", "tanh")
)
"""Functions of each element, whose result has the shape of their argument."""
_DRAWN = {
    f"{_RANDOM}{name}": 1
    for name in (
        *("cauchy", "exponential", "gumbel", "laplace", "logistic", "normal"),
        *("rademacher", "uniform"),
    )
} | {f"{_RANDOM}truncated_normal": 3}
"""Functions that draw floating numbers, and where they are given the shape; the dtype is next."""

Imports = Mapping[str, Import]


def drawn_shape(node: ast.AST, imports: Imports) -> tuple[ast.expr, int] | None:
    """The shape that a call draws, and its place; None of anything else."""
    if not isinstance(node, ast.Call):
        return None
    place = _DRAWN.get(qualified(node.func, imports) or "")
    if place is None:
        return None
    named = (k.value for k in node.keywords if k.arg == "shape")
    given = (*node.args[place : place + 1], *named)
    shape = next(iter(given), None)
    return None if shape is None else (shape, place)


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number that is written out."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_number(operand)
        case ast.Constant(value=value):
            return type(value) in (int, float)
    return False


def shape_of(node: ast.expr, imports: Imports) -> str | None:
    """The shape of an array, as text."""
    match node:
        case ast.BinOp(left=left, right=right):
            shapes = {shape_of(left, imports), shape_of(right, imports)} - {"()"}
            return "()" if not shapes else shapes.pop() if len(shapes) == 1 else None
        case ast.UnaryOp(operand=operand):
            return shape_of(operand, imports)
        case ast.Call() if drawn := drawn_shape(node, imports):
            return _shape_text(drawn[0])
        case ast.Call(func=function, args=[first, *others]):
            full = qualified(function, imports) or ""
            if full.startswith("math."):
                return "()"
            return (
                shape_of(first, imports)
                if full in _EACH
                else _shape_made(full, first, others)
            )
    # A local of setup is a number: an array would be told itself.
    return "()" if is_scalar(node) or isinstance(node, ast.Name) else None


def _shape_made(full: str, first: ast.expr, others: list[ast.expr]) -> str | None:
    text = unparsed(first)
    match full.removeprefix(_JNP), others:
        case (("zeros" | "ones" | "full"), _):
            return _shape_text(first)
        case "identity", _:
            return f"({text}, {text})"
        case "eye", _:
            return f"({text}, {unparsed(others[0]) if others else text})"
        case "arange", []:
            return f"({text},)"
        case "arange", [end]:
            return f"({unparsed(_difference(end, first))},)"
        case "linspace", [_, number]:
            return f"({unparsed(number)},)"
        case (("array" | "asarray"), _):
            sizes = list(_sizes(first))
            return None if None in sizes else str(tuple(sizes))
    return None


def _shape_text(node: ast.expr) -> str:
    text = unparsed(node)
    return text if _is_whole(node) else f"({text},)"


def _difference(end: ast.expr, start: ast.expr) -> ast.expr:
    """What lies between two numbers: n for 1 and n + 1."""
    match end:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if unparsed(
            right
        ) == unparsed(start):
            return left
    return ast.BinOp(end, ast.Sub(), start)


def _sizes(node: ast.expr) -> Iterator[int | None]:
    """The sizes of nested lists; None where they are not known."""
    if isinstance(node, ast.List | ast.Tuple) and node.elts:
        yield len(node.elts)
        yield from _sizes(node.elts[0])
    elif not is_scalar(node):
        yield None


def is_scalar(node: ast.expr) -> bool:
    """Whether an expression is a number, or a hyperparameter, which is one."""
    return is_number(node) or self_attribute(node) is not None


def _is_whole(node: ast.expr) -> bool:
    match node:
        case ast.Tuple() | ast.List() | ast.BinOp(op=ast.Add(), left=ast.Tuple()):
            return True
        case ast.Attribute(attr="shape") | ast.Name(id="shape"):
            return True
    return False
