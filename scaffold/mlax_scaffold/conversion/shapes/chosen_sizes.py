"""Sizes that branches of a body choose, as setup tells them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from mlax_scaffold.conversion.shapes.substituting import substituted
from mlax_scaffold.conversion.shapes.values import Number, Value
from mlax_scaffold.conversion.source.trees import (
    folded,
    literal,
    same,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned
from mlax_scaffold.model.arithmetic import COMPARE


def compares_sizes(condition: ast.expr) -> bool:
    """Whether a condition is more than flags, texts, and what is None."""
    match condition:
        case ast.BoolOp(values=values):
            return any(map(compares_sizes, values))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return compares_sizes(inner)
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return False
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[several]):
            found = literal(several)
            texts = isinstance(found, tuple | list | set)
            return not texts or not all(isinstance(f, str) for f in found)
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[one]):
            return not isinstance(literal(one), str | bool)
    return self_attribute(condition) is None


def says_equal(condition: ast.expr | None) -> bool:
    """Whether a condition is that two sizes are the same, and no text or flag is compared."""
    match condition:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[ast.NotEq()]) as inner):
            return compares_sizes(inner)
        case ast.Compare(ops=[ast.Eq()], comparators=[other]):
            return compares_sizes(condition) and literal(other) is other
    return False


def tells_which(condition: ast.expr) -> bool:
    """Whether a condition compares two sizes for being the same, neither of which is a number."""
    match condition:
        case ast.BoolOp(values=values):
            return any(map(tells_which, values))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return tells_which(inner)
        case ast.Compare(left=one, ops=[ast.Eq() | ast.NotEq()], comparators=[other]):
            return literal(one) is one and literal(other) is other
    return False


def is_case_of(
    condition: ast.expr, sizes: Iterable[ast.expr], general: Iterable[ast.expr]
) -> bool:
    """Whether sizes where a condition such as `n == 1` holds are the general ones with that number."""
    match condition:
        case (
            ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant() as n])
            | ast.UnaryOp(
                op=ast.Not(),
                operand=ast.Compare(
                    left=left, ops=[ast.NotEq()], comparators=[ast.Constant() as n]
                ),
            )
        ):
            known = _Known(left, n)
        case _:
            return False
    one, other = ([folded(known.size(s)) for s in each] for each in (sizes, general))
    return all(map(same, one, other))


class _Known(NodeTransformer):
    """Writes a number in the place of an expression."""

    def __init__(self, known: ast.expr, number: ast.Constant):
        self.known, self.number = known, number

    def size(self, node: ast.expr) -> ast.expr:
        """A size with the number in it."""
        return self.visit(cloned(node))

    def visit(self, node: ast.AST) -> Any:
        alike = isinstance(node, ast.expr) and same(node, self.known)
        return self.number if alike else self.generic_visit(node)


def one_number(condition: ast.expr | None, one: Number, other: Number) -> Value:
    """A number that branches set, as setup tells it; None where it does not."""
    if same(one.value, other.value):
        return one
    if condition is None:
        return None
    chosen = ast.IfExp(cloned(condition), one.value, other.value)
    return Number(cloned(chosen))


def chosen_size(condition: ast.expr, a: ast.expr, b: ast.expr) -> ast.expr:
    """A size that is one or the other; what both have is written once: `n + (1 if c else 0)`."""
    match a:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if same(left, b):
            return ast.BinOp(b, ast.Add(), ast.IfExp(condition, right, ast.Constant(0)))
        case ast.BinOp(left=left, op=ast.Add(), right=right) if same(right, b):
            return ast.BinOp(b, ast.Add(), ast.IfExp(condition, left, ast.Constant(0)))
    return ast.IfExp(condition, a, b)


def number_of(setup: Iterable[ast.stmt], node: ast.expr) -> ast.expr:
    """An attribute as the number that it is set to; itself where it is another one."""
    attribute = self_attribute(node)
    found = [
        part.value
        for part in setup
        if isinstance(part, ast.Assign)
        if self_attribute(part.targets[0]) == attribute
    ]
    single = len(found) == 1 and type(literal(found[0])) is int
    return found[0] if single else node


def literal_test(test: ast.expr, setup: Iterable[ast.stmt]) -> bool | None:
    """What a comparison of literal numbers says, and of attributes that are such; None of others."""
    match test:
        case ast.Compare(left=left, ops=[operation], comparators=[right]):
            values = {
                attribute: part.value
                for part in setup
                if isinstance(part, ast.Assign)
                if (attribute := self_attribute(part.targets[0]))
                if type(literal(part.value)) is int
            }
            sides = [literal(substituted(side, values)) for side in (left, right)]
            compare = COMPARE.get(type(operation))
            if compare is not None and all(type(side) is int for side in sides):
                return bool(compare(*sides))
    return None
