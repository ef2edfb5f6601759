"""Truths that are given as numbers: `nn.LSTMCell(8, 8, 1)`."""

from __future__ import annotations

import ast
from typing import TypeVar

from mlax_scaffold.conversion.source.trees import literal

Given = TypeVar("Given")


def as_truth(given: Given, default: ast.expr) -> Given | ast.expr:
    """What is given for a parameter that is true or false by default: a truth, where it is 0 or 1."""
    if not isinstance(given, ast.expr) or type(literal(default)) is not bool:
        return given
    number = literal(given)
    if type(number) is int and number in (0, 1):
        return ast.copy_location(ast.Constant(bool(number)), given)
    return given
