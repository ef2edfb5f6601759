"""Which expressions of a body are certain to be NumPy's: tracing computes them, in NumPy's own dtypes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.local_values import only_value


def is_of_numpy(
    node: ast.expr,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
    numbers: Collection[str] = (),
) -> bool:
    """Whether an expression is certain to be what NumPy computes, as a table of `np.arange`.

    `numbers` are names of the method that stand for numbers of Python.
    """
    return _is_of_numpy(node, imports, method, frozenset(), numbers)


def _is_of_numpy(
    node: ast.expr,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
    seen: frozenset[str],
    numbers: Collection[str],
) -> bool:
    """`seen` are the locals whose values are looked into."""

    def of_numpy(inner: ast.expr) -> bool:
        return _is_of_numpy(inner, imports, method, seen, numbers)

    def any_of_numpy(*sides: ast.expr) -> bool:
        others = [s for s in sides if not _is_number(s, numbers)]
        return bool(others) and all(map(of_numpy, others))

    match node:
        case ast.Name(id=name):
            # What it is given by itself, as in `g = g / g.sum()`, is what it is else.
            if name in seen:
                return True
            values = _bound(name, method) or only_value(name, method)
            return bool(values) and all(
                _is_of_numpy(value, imports, method, seen | {name}, numbers)
                for value in values
            )
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
            return of_numpy(inner)
        case ast.Attribute(value=inner, attr="T"):
            return of_numpy(inner)
        case (
            ast.BinOp(left=left, right=right)
            | ast.Compare(left=left, comparators=[right])
        ):
            return any_of_numpy(left, right)
        case ast.Call(func=function):
            name = qualified(function, imports)
            if name is None and isinstance(function, ast.Attribute):
                return of_numpy(function.value)
            return (name or "").startswith("numpy.")
    return False


def _is_number(node: ast.expr, numbers: Collection[str]) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in numbers
        case ast.UnaryOp(operand=inner):
            return _is_number(inner, numbers)
        case ast.BinOp(left=left, right=right):
            return _is_number(left, numbers) and _is_number(right, numbers)
    return False


def _bound(name: str, method: ast.FunctionDef) -> list[ast.expr]:
    """What a local is bound to, each by a statement of its own; nothing where it is bound in another way."""
    values: list[ast.expr] = []
    other = 0
    for node in walk(method):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if (
                target == name
            ):
                values.append(value)
            case ast.AugAssign(target=ast.Name(id=target), value=value) if (
                target == name
            ):
                values.append(ast.BinOp(ast.Name(name, ast.Load()), node.op, value))
            case ast.arg(arg=given) if given == name:
                other += 1
            case ast.Name(id=target, ctx=ast.Store()) if target == name:
                other += 1
    return values if other == len(values) else []
