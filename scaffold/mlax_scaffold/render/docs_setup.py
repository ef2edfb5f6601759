"""What `setup` says, in terms of hyperparameters: shapes, counts, and values of examples."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from mlax_scaffold.model.definition import Definition, Role
from mlax_scaffold.model.import_time import MAX_BITS
from mlax_scaffold.render.parameters import plain


class Unknown(Exception):
    """An expression is more than is understood here."""


class Setup:
    """The assignments of a definition's `setup`, read from its text."""

    def __init__(self, definition: Definition):
        self.definition = definition

    @cached_property
    def _bound(self) -> dict[str, ast.expr]:
        """Locals, and attributes as `self.name`; those that are assigned once."""
        found: dict[str, list[ast.expr]] = {
            helper.name: [ast.parse(helper.value, mode="eval").body]
            for helper in self.definition.helpers
            if helper.value is not None
        }
        for node in self._statements():
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for name, expression in pairs:
                found.setdefault(ast.unparse(name), []).append(expression)
        return {name: values[0] for name, values in found.items() if len(values) == 1}

    def _statements(self) -> list[ast.stmt]:
        for node in ast.walk(ast.parse(self.definition.text)):
            if isinstance(node, ast.FunctionDef) and node.name == "setup":
                return node.body
        return []

    def resolved(self, expression: str) -> ast.expr:
        """The expression with the locals of `setup` replaced by what they stand for."""
        replace = _Replace(self._bound)
        resolved = replace.visit(ast.parse(expression, mode="eval").body)
        # Locals of locals of locals: what is too long to be read is told by its name.
        return (
            resolved
            if replace.count <= _MOST
            else ast.parse(expression, mode="eval").body
        )

    def text(self, expression: str) -> str:
        """An expression of `setup`, such as a shape, in terms of hyperparameters."""
        return plain(ast.unparse(self.resolved(expression)))

    def count(self) -> str | None:
        """The number of weights as a Python expression; None where it does not follow."""
        terms = []
        try:
            for d in self.definition.declared(Role.TRAINABLE):
                term = plain(_product(self.resolved(d.shape)))
                if d.condition is not None:
                    condition = plain(ast.unparse(self.resolved(d.condition)))
                    term = f"({term} if {condition} else 0)"
                terms.append(term)
        except Unknown:
            return None
        return " + ".join(terms) if terms else "0"

    def value(self, expression: str, values: Mapping[str, Any]) -> Any:
        """The value of an expression of hyperparameters.

        Raises:
            Unknown: where it has more in it than arithmetic and comparisons.
        """
        return _evaluate(self.resolved(expression), values)

    def derived(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of what `setup` derives from hyperparameters, where they can be told."""
        found = {}
        for d in self.definition.declared(Role.DERIVED):
            try:
                found[d.name] = _evaluate(self._bound[f"self.{d.name}"], values)
            except (Unknown, KeyError):
                continue
        return found


_MOST = 100
"""Names that are replaced in one expression."""


class _Replace(ast.NodeTransformer):
    def __init__(self, bound: Mapping[str, ast.expr]):
        self.bound = bound
        self.count = 0

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.bound.get(node.id)
        if value is None or self.count > _MOST:
            return node
        self.count += 1
        return self.visit(ast.parse(ast.unparse(value), mode="eval").body)


def _product(shape: ast.expr) -> str:
    """The product of the dims of a shape, as text."""
    if isinstance(shape, ast.IfExp):
        branches = _product(shape.body), _product(shape.orelse)
        if sorted(branches[0].split(" * ")) == sorted(branches[1].split(" * ")):
            return branches[0]
        return f"({branches[0]} if {ast.unparse(shape.test)} else {branches[1]})"
    if not isinstance(shape, ast.Tuple):
        raise Unknown
    factors = []
    for dim in shape.elts:
        text = ast.unparse(dim)
        if isinstance(dim, ast.Starred):
            text = f"math.prod({ast.unparse(dim.value)})"
        elif not isinstance(dim, ast.Name | ast.Attribute | ast.Constant):
            text = f"({text})"
        factors.append(text)
    return " * ".join(factors) if factors else "1"


_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


_CALLS = {"len": len, "max": max, "min": min}


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """Arithmetic, comparisons and conditions; nothing of a spec is executed."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in values:
            return values[name]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(_evaluate(item, values) for item in items)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _evaluate(operand, values)
        case ast.BoolOp(op=op, values=parts):
            for part in parts[:-1]:
                value = _evaluate(part, values)
                if bool(value) is isinstance(op, ast.Or):
                    return value
            return _evaluate(parts[-1], values)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _evaluate(body if _evaluate(test, values) else orelse, values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _apply(_BINARY[type(op)], [left, right], values)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if (
            name in _CALLS
        ):
            return _apply(_CALLS[name], [argument], values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _apply(_COMPARE[type(op)], [left, right], values)
    raise Unknown


def _apply(function: Any, operands: list[ast.expr], values: Mapping[str, Any]) -> Any:
    given = [_evaluate(operand, values) for operand in operands]
    # Text and tuples can be multiplied, and text be formatted, to any length.
    if function in (operator.mul, operator.mod) and not _are_numbers(given):
        raise Unknown
    try:
        value = function(*given)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Unknown from error
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise Unknown
    return value


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)
