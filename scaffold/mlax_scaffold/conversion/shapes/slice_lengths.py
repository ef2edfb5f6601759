"""How many features slices take, whose bounds are numbers that setup knows or lengths of others."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.values import Number, Value
from mlax_scaffold.conversion.source.trees import expression, folded, literal


def tell_bound(part: ast.Slice, side: str, value: Value) -> None:
    """Say what number a bound of a slice is, in place."""
    if isinstance(value, Number):
        part.told = _bounds_of(part) | {side: value.value}  # type: ignore[attr-defined]


def _bounds_of(part: ast.Slice) -> dict[str, ast.expr]:
    """What is known of the bounds of a slice."""
    return getattr(part, "told", {})


def told_length(axis: ast.expr, part: ast.Slice) -> ast.expr | None:
    """How many features a slice takes whose bounds hyperparameters tell, `x[..., :self.dim // 2]`."""
    bounds = _bounds_of(part)
    if not bounds or part.step is not None:
        return None
    whole = {"lower": part.lower, "upper": part.upper}
    if any(v is not None and side not in bounds for side, v in whole.items()):
        return None
    ends = {side: _from_start(bound, axis) for side, bound in bounds.items()}
    low, high = ends.get("lower"), ends.get("upper", axis)
    return high if low is None else folded(expression("a - b", a=high, b=low))


def _from_start(bound: ast.expr, axis: ast.expr) -> ast.expr:
    """A bound of a slice that may be counted from the end."""
    match bound:
        case ast.UnaryOp(op=ast.USub(), operand=number):
            return folded(expression("a - b", a=axis, b=number))
    return bound


def is_shift(index: ast.expr) -> bool:
    """Whether an index takes some of the steps behind the first axis, `x[:, :-1]` or `order[:, :keep]`."""
    match index:
        case ast.Tuple(elts=[ast.Slice() as first, ast.Slice() as second]):
            return is_whole(first) and not is_whole(second) and second.step is None
    return False


def is_whole(part: ast.Slice) -> bool:
    """Whether a slice takes all of an axis."""
    return part.lower is None and part.upper is None and part.step is None


def is_of_keys(index: ast.expr) -> bool:
    """Whether an index takes as many of the last of four axes as something is long: `mask[:, :, :, :n]`."""
    match index:
        case ast.Tuple(elts=[*first, ast.Slice(lower=None, upper=upper, step=None)]):
            whole = all(isinstance(p, ast.Slice) and is_whole(p) for p in first)
            counted = upper is not None and not isinstance(literal(upper), int)
            return whole and counted and len(first) == 3
    return False
