"""Which arguments of a function are numbers, by what is done with them: sizes and counts."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.walking import walk

_TAKES = frozenset(
    (
        *("range", "arange", "zeros", "ones", "eye", "linspace", "empty", "full"),
        *("view", "reshape", "expand", "repeat", "int", "float"),
    )
)


def counts(function: ast.FunctionDef, argument: str) -> bool:
    """Whether an argument is a number: a size of arrays is made of it, and nothing of it is read."""
    found = False
    for part in walk(function):
        match part:
            case (
                ast.Attribute(value=ast.Name(id=title))
                | ast.Subscript(value=ast.Name(id=title))
            ) if title == argument:
                return False
            case ast.Call(func=func, args=args):
                last = func.attr if isinstance(func, ast.Attribute) else ""
                last = func.id if isinstance(func, ast.Name) else last
                given = [e for a in args for e in getattr(a, "elts", [a])]
                inner = [n for e in given for n in _numbers(e)]
                found = found or (last in _TAKES and argument in inner)
            case ast.Slice(lower=lower, upper=upper):
                ends = [n for e in (lower, upper) if e is not None for n in _numbers(e)]
                found = found or argument in ends
    return found


def _numbers(node: ast.expr) -> list[str]:
    match node:
        case ast.Name(id=title):
            return [title]
        case ast.BinOp(left=left, right=right):
            return _numbers(left) + _numbers(right)
        case ast.Starred(value=value):
            # `zeros((channels, *sides))`
            return _numbers(value)
    return []


def indexes(function: ast.FunctionDef, argument: str) -> bool:
    """Whether an argument holds indices: elements of something else are taken at its places."""
    return any(_takes_at(part, argument) for part in walk(function))


def _takes_at(node: ast.AST, argument: str) -> bool:
    match node:
        case ast.Subscript(slice=ast.Name(id=index)):
            return index == argument
        case ast.Call(
            func=ast.Attribute(attr="gather" | "index_select" | "take" | "embedding"),
            args=[*given],
        ):
            return any(isinstance(a, ast.Name) and a.id == argument for a in given)
    return False
