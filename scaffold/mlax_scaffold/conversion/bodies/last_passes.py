"""Sizes that change from pass to pass: what one grows by, and what it is after the last pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.loop_parts import last_of
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    names,
    replaced,
    targets,
)


def growth(
    entry: ast.Name, last: ast.expr, node: ast.For
) -> tuple[ast.expr, ast.expr] | None:
    """What a size grows by in each pass of a loop, and how many there are; None where it does not so."""
    source = node.iter
    if not isinstance(source, ast.Call) or not is_name(source.func, "range"):
        return None
    match last:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if len(source.args) == 1:
            grown = right if is_name(left, entry.id) else left
            other = left if grown is right else right
            free = names(grown) & {entry.id, *targets(node.target)}
            if is_name(other, entry.id) and not free:
                return grown, source.args[0]
    return None


def after_loop(size: ast.expr, node: ast.For) -> ast.expr | None:
    """A size of a pass after the last one; None where what the loop goes over does not tell it."""
    used = names(size) & set(targets(node.target))
    parts = dict(_last_parts(node.target, node.iter))
    return replaced(size, parts) if used <= set(parts) else None


def _last_parts(target: ast.expr, source: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What names of a loop over something are in its last pass."""
    match source:
        case _ if isinstance(target, ast.Name):
            yield target.id, last_of(source)
        case ast.Call(func=ast.Name(id="enumerate"), args=[listed], keywords=[]) if (
            isinstance(target, ast.Tuple) and len(target.elts) == 2
        ):
            yield from _parts(target.elts[0], expression("len(s) - 1", s=listed))
            yield from _last_parts(target.elts[1], listed)
        case ast.Call(func=ast.Name(id="zip"), args=args) if isinstance(
            target, ast.Tuple
        ):
            for part, listed in zip(target.elts, args, strict=False):
                yield from _last_parts(part, listed)
        case ast.Call(func=ast.Name(id="reversed" | "tuple" | "list")):
            yield from _parts(target, last_of(source))
        case ast.Call():
            # What another call gives may be nothing that has a last element to ask for.
            return
        case _:
            yield from _parts(target, last_of(source))


def _parts(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What names that a value is taken apart into are; nothing of one that takes the rest."""
    match target:
        case ast.Name():
            yield target.id, value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            if any(isinstance(e, ast.Starred) for e in elements):
                return
            for place, element in enumerate(elements):
                match value:
                    case ast.Tuple(elts=known) | ast.List(elts=known) if len(
                        known
                    ) == len(elements):
                        yield from _parts(element, known[place])
                    case _:
                        part = expression(f"v[{place}]", v=value)
                        yield from _parts(element, part)
