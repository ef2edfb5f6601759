"""What the parts of an index do with axes: `x[:, None]`, `x[..., 0]`, `x[..., :2]`."""

from __future__ import annotations

import ast


def is_new(node: ast.expr) -> bool:
    """Whether it is None, which adds an axis."""
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Attribute(attr="newaxis"):
            return True
    return False


def is_whole(node: ast.expr) -> bool:
    """Whether it is `:`."""
    return isinstance(node, ast.Slice) and not (node.lower or node.upper or node.step)


def is_open(part: ast.expr) -> bool:
    """Whether it is `...`."""
    return isinstance(part, ast.Constant) and part.value is ...


def added_at_end(index: list[ast.expr]) -> int:
    """1 for `x[..., None]`, 2 with another None, -1 for `x[..., 0]`, and 0 for anything else."""
    match index:
        case [first, *new] if is_open(first) and all(map(is_new, new)):
            return len(new)
        case [first, ast.Constant(value=int())] if is_open(first):
            return -1
    return 0


def is_part_of_last(index: list[ast.expr]) -> bool:
    """Whether it is `x[..., :half]`."""
    return len(index) == 2 and is_open(index[0]) and isinstance(index[1], ast.Slice)


def expanded(node: ast.expr) -> int:
    """How many axes `x[:, None, :]` has; 0 for anything else."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            if all(is_new(p) or is_whole(p) for p in parts):
                return len(parts)
    return 0


def in_pairs(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The arrays of rows in `x[:, None] - y[None]`, each of which goes with each; None for anything else."""
    for one, other in ((left, right), (right, left)):
        match one, other:
            case (
                ast.Subscript(value=x, slice=ast.Tuple(elts=[rows, new])),
                ast.Subscript(value=y, slice=alone),
            ) if is_whole(rows) and is_new(new) and is_new(alone):
                return x, y
    return None
