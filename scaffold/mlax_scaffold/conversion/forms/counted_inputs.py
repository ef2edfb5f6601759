"""Inputs that are numbers of Python, as what is done with them tells: `x[:, :length]`, `range(steps)`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import walk

_COUNTS = ("range", "arange", "narrow")


def with_counts(function: ast.FunctionDef) -> None:
    """Give such inputs the type `int`, in place."""
    for argument in (*function.args.args, *function.args.kwonlyargs):
        if argument.annotation is None and _counts(function, argument.arg):
            argument.annotation = ast.copy_location(
                ast.Name("int", ast.Load()), argument
            )


def _counts(function: ast.FunctionDef, given: str) -> bool:
    """Whether an input is only the end of a slice, or a number of times."""
    inside: set[int] = set()
    for part in walk(function):
        bounds: list[ast.expr | None] = []
        if isinstance(part, ast.Slice):
            bounds = [part.lower, part.upper, part.step]
        elif isinstance(part, ast.Call) and _last(part) in _COUNTS:
            bounds = [*part.args]
        for bound in bounds:
            if bound is not None and not any(
                isinstance(p, ast.Call) for p in walk(bound)
            ):
                inside |= {id(p) for p in walk(bound)}
    read = [p for part in function.body for p in walk(part) if is_name(p, given)]
    return bool(read) and all(id(p) in inside for p in read)


def _last(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]
