"""Two sizes that are equal, without what both have: expressions of hyperparameters, and symbols."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from mlax_scaffold.conversion.source.trees import expression, folded, literal, same
from mlax_scaffold.conversion.source.walking import walk

ONE_ELEMENT = "__"
"""The hint of a size that is one, or that of what an array is combined with."""
_MARKS = ("word", "layer", "loss", "module", "own")


def is_symbol(node: ast.AST) -> bool:
    """Whether a node stands for an unknown size."""
    return (
        isinstance(node, ast.Name)
        and node.id.startswith("@")
        and node.id.partition(":")[0][1:] not in _MARKS
    )


def product(sizes: Iterable[ast.expr]) -> ast.expr:
    """The product of sizes."""
    made: ast.expr = ast.Constant(1)
    for size in sizes:
        made = expression("a * b", a=made, b=size)
    return folded(made)


def without_numbers(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
    """Both sides, where one is an unknown size that a number is added to, or that is divided by one."""
    for one, other in ((left, right), (right, left)):
        whole = literal(other)
        match one:
            case ast.BinOp(
                left=ast.BinOp(
                    left=size, op=ast.FloorDiv(), right=ast.Constant(int(by))
                ),
                op=ast.Add(),
                right=ast.Constant(int(part)),
            ) if is_symbol(size) and is_symbol(other) and not same(size, other):
                # The longest that has so many, as `2 * time - 1` distances have `time` of one side.
                text = f"{by} * n - {by * part - by + 1}"
                return size, folded(expression(text, n=other))
            case ast.BinOp(left=size, op=ast.Add(), right=ast.Constant(int(part))):
                if is_symbol(size) and type(whole) is int and whole > part:
                    return size, ast.Constant(whole - part)
            case ast.BinOp(left=size, op=ast.Sub(), right=ast.Constant(int(part))):
                if type(whole) is int and any(map(is_symbol, walk(size))):
                    return without_numbers(size, ast.Constant(whole + part))
            case (
                ast.BinOp(left=ast.Constant(int(part)), op=ast.Mult(), right=size)
                | ast.BinOp(left=size, op=ast.Mult(), right=ast.Constant(int(part)))
            ):
                if is_symbol(size) and type(whole) is int and not whole % (part or 1):
                    return size, ast.Constant(whole // (part or 1))
            case ast.BinOp(left=size, op=ast.FloorDiv(), right=ast.Constant() as part):
                known = not any(map(is_symbol, walk(other)))
                if is_symbol(size) and known:
                    return size, folded(expression("n * a", n=part, a=other))
    return left, right


def chosen_of(left: ast.expr, right: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an unknown size that a setting may choose is, where the other one of its choice tells it."""
    for choice, other in ((left, right), (right, left)):
        match choice, other:
            case _, ast.IfExp():
                continue
            case ast.IfExp(body=one, orelse=another), _:
                for size, beside in ((one, another), (another, one)):
                    if is_symbol(size) and (is_symbol(beside) or same(beside, other)):
                        yield size, other


def without_common(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
    """Two sizes without what is added to both, or what both are multiplied by."""
    match left, right:
        case (
            ast.BinOp(left=whole, op=ast.FloorDiv(), right=by),
            ast.BinOp(left=other_whole, op=ast.FloorDiv(), right=other_by),
        ) if same(by, other_by) and (is_symbol(whole) or is_symbol(other_whole)):
            return whole, other_whole
        case (
            ast.BinOp(left=whole, op=ast.Sub(), right=by),
            ast.BinOp(left=other_whole, op=ast.Sub(), right=other_by),
        ) if same(by, other_by):
            return without_common(whole, other_whole)
        case (ast.BinOp() as told, ast.IfExp(body=first)) | (
            ast.IfExp(body=first),
            ast.BinOp() as told,
        ) if any(map(is_symbol, walk(told))):
            # Of what is one or the other it is the one that shapes follow.
            return without_common(told, first)
    one, other = _factors(left), _factors(right)
    if len(one) > 1 and len(other) > 1:
        for factor in list(one):
            at = next((i for i, f in enumerate(other) if same(f, factor)), None)
            if at is not None and not is_symbol(factor):
                one.remove(factor)
                other.pop(at)
        if len(one) == 1 or len(other) == 1:
            return product(one), product(other)
    first, second = _doubled(left), _doubled(right)
    if not (_is_sum(first) and _is_sum(second)):
        return left, right
    pairs = ((first.left, first.right), (first.right, first.left))
    rest = ((second.left, second.right), (second.right, second.left))
    found = [(b, d) for a, b in pairs for c, d in rest if same(a, c)]
    return without_common(*found[0]) if found else _without_terms(left, right)


def _without_terms(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
    """Both sides where one unknown size is left so often as another one, `d + d + 1` and `2 * width + 1`."""
    parts: dict[str, ast.expr] = {}
    counts = Counter(_terms(left, parts))
    counts.subtract(Counter(_terms(right, parts)))
    some = [(parts[t], n) for t, n in counts.items() if n > 0]
    others = [(parts[t], -n) for t, n in counts.items() if n < 0]
    if len(some) == len(others) == 1:
        [(one, often)], [(other, as_often)] = some, others
        if often == as_often and (is_symbol(one) or is_symbol(other)):
            return one, other
    return left, right


def _terms(node: ast.expr, parts: dict[str, ast.expr]) -> Iterator[str]:
    """The terms of a sum by their texts, each so often as it is added; numbers are ones."""
    match node:
        case ast.BinOp(left=one, op=ast.Add(), right=other):
            yield from _terms(one, parts)
            yield from _terms(other, parts)
        case ast.BinOp(left=ast.Constant(value=int() as n), op=ast.Mult(), right=size):
            yield from [*_terms(size, parts)] * n
        case ast.Constant(value=int() as n) if 0 < n < 100:
            parts["1"] = ast.Constant(1)
            yield from ["1"] * n
        case _:
            parts[ast.unparse(node)] = node
            yield ast.unparse(node)


def same_product(left: ast.expr, right: ast.expr) -> bool:
    """Whether two sizes are the product of the same factors, in any order."""
    one, other = (sorted(map(ast.unparse, _factors(n))) for n in (left, right))
    return one == other


def _factors(node: ast.expr) -> list[ast.expr]:
    """What a size is the product of: `p**2 * c` is that of p, p and c."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _factors(left) + _factors(right)
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int() as n)):
            return [base] * n if 0 < n < 5 else [node]
    return [node]


def _is_sum(node: ast.expr) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)


def _doubled(node: ast.expr) -> ast.expr:
    """Twice a size, as it added to itself."""
    match node:
        case ast.BinOp(left=ast.Constant(value=2), op=ast.Mult(), right=size):
            return ast.BinOp(size, ast.Add(), size)
    return node
