"""What sizes are for values of hyperparameters."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from mlax_scaffold.conversion.source.trees import is_none, literal


def computed(node: ast.expr, values: Mapping[str, object]) -> object:
    """The value of a size, of arithmetic and hyperparameters alone."""
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Attribute(attr=attr):
            return values.get(attr)
        case ast.IfExp(
            test=ast.Compare(
                left=ast.Attribute(attr=attr), ops=[op], comparators=[none]
            ),
            body=body,
            orelse=other,
        ) if is_none(none):
            there = values.get(attr) is not None
            return computed(
                body if there == isinstance(op, ast.IsNot) else other, values
            )
        case ast.IfExp(test=ast.Attribute(attr=attr), body=body, orelse=other) if (
            attr in values
        ):
            return computed(body if values[attr] else other, values)
        case ast.Name(id=symbol):
            return values.get(symbol)
        case ast.BoolOp(op=ast.Or(), values=[given, default]):
            return computed(given, values) or computed(default, values)
        case ast.Subscript(value=inner, slice=index):
            found, at = computed(inner, values), computed(index, values)
            if (
                isinstance(found, tuple)
                and isinstance(at, int)
                and -len(found) <= at < len(found)
            ):
                return found[at]
            return None
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = computed(inner, values)
            return -value if isinstance(value, int) else None
        case ast.BinOp(left=left, op=op, right=right):
            a, b = computed(left, values), computed(right, values)
            if not isinstance(a, int | float) or not isinstance(b, int | float):
                return None
            try:
                match op:
                    case ast.Add():
                        return a + b
                    case ast.Sub():
                        return a - b
                    case ast.Mult():
                        return a * b
                    case ast.FloorDiv():
                        return a // b
                    case ast.Pow() if abs(b) < 10:
                        return a**b
            except (ZeroDivisionError, OverflowError):
                return None
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            value = computed(inner, values)
            return math.floor(value) if isinstance(value, int | float) else None
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            value = computed(inner, values)
            return len(value) if isinstance(value, tuple) else None
        case ast.Call(func=ast.Attribute(attr="prod"), args=[inner]):
            value = computed(inner, values)
            whole = isinstance(value, tuple) and all(type(v) is int for v in value)
            return math.prod(value) if isinstance(value, tuple) and whole else None
    return None


def is_there(size: ast.expr, known: Mapping[str, object]) -> bool:
    """Whether nothing that a size is the product of is less than one: two sides may be so at once."""
    if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult):
        return is_there(size.left, known) and is_there(size.right, known)
    value = computed(size, known)
    return not isinstance(value, int) or value > 0


def default_of(node: ast.expr | None) -> object:
    """What a field is by default, of arithmetic too; None for what is no number or literal."""
    found = literal(node)
    if not isinstance(found, ast.AST):
        return found
    assert node is not None
    return computed(node, {})
