"""What functions make of literals, as literals."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence

from mlax_scaffold.conversion.source.trees import expression, literal

TEXTS = (
    *("format", "lower", "upper", "capitalize", "strip", "split", "replace"),
    *("startswith", "endswith", "removeprefix", "removesuffix"),
)
"""Methods of texts that make something of literals."""


def computed(
    operate: Callable[..., object] | None, given: Sequence[ast.expr]
) -> ast.expr | None:
    """What a function makes of literals; None where one is none, or it makes nothing."""
    values = [literal(g) for g in given]
    if operate is None or any(isinstance(v, ast.AST) for v in values):
        return None
    try:
        made = operate(*values)
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return None
    if isinstance(made, float) and not math.isfinite(made):
        # It has no literal.
        return None
    return written(made)


def written(value: object) -> ast.expr:
    """A value as an expression."""
    return expression(repr(value))
