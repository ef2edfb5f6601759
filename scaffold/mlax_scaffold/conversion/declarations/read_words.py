"""The words of hyperparameters without types, by what reads them: rates of dropout, and scales."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import given_to, method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import walk

_DEEPEST = 4
"""How many classes hand a rate on to one another."""


def word_by_reads(origin: Origin, node: ast.AST, parameter: str, word: str) -> str:
    """The word of a parameter that its name makes a size; a better one, where what reads it tells that."""
    start = method_of(node, "__init__") if isinstance(node, ast.ClassDef) else None
    if start is None or not word.startswith(("Size", "Count")):
        return word
    if word in ("Size", "Count") and _is_rate(origin, start, parameter, _DEEPEST):
        return "Probability"
    if word.endswith("| None") and _is_scale(start, parameter):
        return "float | None"
    return word


def _is_rate(
    origin: Origin, start: ast.FunctionDef, parameter: str, further: int
) -> bool:
    """Whether layers that drop are made with it, here or in a class that it is handed to."""
    kept = {
        self_attribute(t)
        for s in walk(start)
        if isinstance(s, ast.Assign) and is_name(s.value, parameter)
        for t in s.targets
    } - {None}

    def is_it(value: ast.expr) -> bool:
        return is_name(value, parameter) or self_attribute(value) in kept

    for part in walk(start):
        if not isinstance(part, ast.Call):
            continue
        title = origin.qualified(part.func).rpartition(".")[2]
        rates = [k.value for k in part.keywords if k.arg in ("p", "rate")]
        if title.startswith("Dropout") and any(
            is_it(v) for v in (*part.args[:1], *rates)
        ):
            return True
        other = origin.classes.get(getattr(part.func, "id", ""))
        begins = method_of(other, "__init__") if other is not None else None
        bound = given_to(begins, part) if begins is not None and further else None
        handed = [p for p, v in (bound or {}).items() if is_it(v)]
        if begins and any(_is_rate(origin, begins, p, further - 1) for p in handed):
            return True
    return False


def _is_scale(start: ast.FunctionDef, parameter: str) -> bool:
    """Whether a power below zero stands where it is None: `scale or dim ** -0.5`."""
    for part in walk(start):
        match part:
            case ast.BoolOp(op=ast.Or(), values=[first, other]):
                pass
            case ast.IfExp(test=ast.Compare(comparators=[n]), body=one, orelse=two) if (
                is_none(n)
            ):
                first, other = (one, two) if is_name(one, parameter) else (two, one)
            case _:
                continue
        if is_name(first, parameter) and any(map(_is_root, walk(other))):
            return True
    return False


def _is_root(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = literal(node.right)
        return isinstance(power, int | float) and power < 0
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
