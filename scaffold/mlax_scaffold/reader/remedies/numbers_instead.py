"""Parameters without a type that are None by default, and a number where they are None."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import defaults_of, dotted, is_none

_WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_BUILTINS = ("abs", "float", "int", "len", "max", "min", "round")


def number_of(function: ast.FunctionDef, name: str) -> str:
    """`int` or `float` for `name`, of which `name or n / 2` is read, or `n` where it is None; else empty."""
    found = {_kind(function, value) for value in _instead(function, name)}
    if not found or "" in found:
        return ""
    return "float" if "float" in found else "int"


def _instead(function: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """What stands in its place where it is None."""
    for node in walk(function):
        match node:
            case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=own), other]):
                if own == name:
                    yield other
            case ast.IfExp(test=test, body=body, orelse=other):
                if _asks(test, name, ast.Is):
                    yield body
                elif _asks(test, name, ast.IsNot):
                    yield other
            case ast.If(test=test, body=[ast.Assign(targets=[target], value=value)]):
                same = isinstance(target, ast.Name) and target.id == name
                if same and _asks(test, name, ast.Is):
                    yield value


def _asks(test: ast.expr, name: str, operator: type[ast.cmpop]) -> bool:
    """Whether it is `name is None`, or `name is not None`."""
    match test:
        case ast.Compare(left=ast.Name(id=own), ops=[op], comparators=[other]):
            return own == name and isinstance(op, operator) and is_none(other)
    return False


def _kind(function: ast.FunctionDef, value: ast.expr, depth: int = 0) -> str:
    """`int` or `float` of what is certain to be a number of Python; empty for anything else."""
    match value:
        case ast.Constant(value=number) if type(number) in (int, float):
            return type(number).__name__
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _kind(function, inner, depth)
        case ast.BinOp(left=left, op=op, right=right):
            kinds = {_kind(function, side, depth) for side in (left, right)}
            if "" in kinds:
                return ""
            return "int" if kinds == {"int"} and isinstance(op, _WHOLE) else "float"
        case (
            ast.Subscript(value=ast.Attribute(attr="shape"))
            | ast.Attribute(attr="ndim")
        ):
            return "int"
        case ast.Call(func=called, args=args):
            path = dotted(called) or ""
            if path == "len":
                return "int"
            known = path.startswith("math.") or path in _BUILTINS
            return (
                "float"
                if known and all(_kind(function, a, depth) for a in args)
                else ""
            )
        case ast.Name(id=name) if depth < 3:
            return _named(function, name, depth + 1)
    return ""


def _named(function: ast.FunctionDef, name: str, depth: int) -> str:
    """The kind of a parameter with a number as its default, or of a size that is unpacked."""
    for arg, default in defaults_of(function.args):
        if arg.arg == name:
            return _kind(function, default, depth)
    values = [*_bound(function, name)]
    kinds: Collection[str] = {_kind(function, v, depth) if v else "int" for v in values}
    return next(iter(kinds)) if len(kinds) == 1 else ""


def _bound(function: ast.FunctionDef, name: str) -> Iterator[ast.expr | None]:
    """The values of a local; None for a size, as of `b, n = x.shape`."""
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=own)], value=value) if own == name:
                yield value
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
                names = [p.id for p in parts if isinstance(p, ast.Name)]
                if name in names:
                    shape = isinstance(value, ast.Attribute) and value.attr == "shape"
                    yield None if shape else ast.Constant(None)
