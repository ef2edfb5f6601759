"""Values of expressions: arithmetic, comparisons and conditions, computed without running a spec."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from mlax_scaffold.model.expressions import self_attribute

MAX_BITS = 1024
"""A number beyond the largest of float64 is a slip, and computing one may take for ever."""

UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
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
_CALLS: Mapping[str, Callable[..., Any]] = {"len": len, "max": max, "min": min}


class Unknown(Exception):
    """An expression is more than is understood here, or reads what has no known value."""


def evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """The value of an expression.

    Args:
        node: the expression.
        values: those of variables, and of attributes of self as `self.name`.

    Raises:
        Unknown: where it has more in it than arithmetic, comparisons and conditions.
    """
    match node:
        case ast.Constant():
            return node.value
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Attribute() if (name := f"self.{self_attribute(node)}") in values:
            return values[name]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(evaluate(item, values) for item in items)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not evaluate(operand, values)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return _apply(UNARY[type(op)], [operand], values)
        case ast.BoolOp(op=op, values=parts):
            for part in parts[:-1]:
                value = evaluate(part, values)
                if bool(value) is isinstance(op, ast.Or):
                    return value
            return evaluate(parts[-1], values)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return evaluate(body if evaluate(test, values) else orelse, values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return _apply(BINARY[type(op)], [left, right], values)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if (
            name in _CALLS
        ):
            return _apply(_CALLS[name], [argument], values)
        case ast.Subscript(value=owner, slice=index):
            return _apply(operator.getitem, [owner, index], values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _apply(COMPARE[type(op)], [left, right], values)
    raise Unknown


def _apply(function: Any, operands: list[ast.expr], values: Mapping[str, Any]) -> Any:
    given = [evaluate(operand, values) for operand in operands]
    # Text and tuples can be multiplied, and text be formatted, to any length.
    if function in _OF_NUMBERS and not all(isinstance(v, int | float) for v in given):
        raise Unknown
    if function is operator.pow and too_large(*given):
        raise Unknown
    try:
        value = function(*given)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise Unknown from error
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise Unknown
    return value


_OF_NUMBERS = (operator.mul, operator.mod, operator.pow)


def too_large(base: float, exponent: float) -> bool:
    """Whether a power could have more bits than any number that is meant."""
    bits = base.bit_length() if isinstance(base, int) else 1
    return isinstance(exponent, int) and abs(exponent) * bits > MAX_BITS
