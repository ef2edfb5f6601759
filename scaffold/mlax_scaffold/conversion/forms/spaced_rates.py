"""Rates that are spaced evenly, in a list that layers take theirs from: each is written where it is taken.

rates = [float(r) for r in jnp.linspace(0, self.rate, sum(self.depths))]
x = Block(drop_path=rates[i])(x)
becomes
x = Block(drop_path=0 + (self.rate - 0) * i / max(sum(self.depths) - 1, 1))(x)

Layers are made in setup, where no array of jax is.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, is_name, targets
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_SPACED = ("jax.numpy.linspace", "numpy.linspace", "torch.linspace")


def without_spaced_rates(origin: Origin) -> None:
    """Write them so in methods, in place."""
    for node in origin.classes.values():
        if not framework_of(origin, node):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                _write(origin, method)


def _write(origin: Origin, method: ast.FunctionDef) -> None:
    for part in [*method.body]:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                ends = _ends(origin, value)
            case _:
                continue
        if ends is None or not _only_taken_from(method, local):
            continue
        if {n for end in ends for n in _names(end)} & {*_bound(method)}:
            continue
        method.body.remove(part)
        _Taken(local, *ends).visit(method)
        located(method)


def _ends(origin: Origin, node: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """Where rates begin and end, and how many there are; None of anything else."""
    match node:
        case ast.ListComp(
            elt=element,
            generators=[
                ast.comprehension(target=ast.Name(id=one), iter=source, ifs=[])
            ],
        ) if _is_number_of(element, one):
            return _ends(origin, source)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[source], keywords=[]):
            return _ends(origin, source)
        case ast.Call(func=ast.Attribute(value=source, attr="tolist"), args=[]):
            return _ends(origin, source)
        case ast.Call(func=func, args=[first, last, count], keywords=[]) if (
            origin.qualified(func) in _SPACED
        ):
            return first, last, count
    return None


def _is_number_of(node: ast.expr, one: str) -> bool:
    """Whether an expression is what a name is, as a number."""
    match node:
        case ast.Name(id=title):
            return title == one
        case ast.Call(func=ast.Name(id="float"), args=[inner], keywords=[]):
            return is_name(inner, one)
        case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[]):
            return is_name(inner, one)
    return False


def _only_taken_from(method: ast.FunctionDef, local: str) -> bool:
    """Whether a list is bound once, and read at one place at a time alone."""
    found = [n for n in walk(method) if is_name(n, local)]
    taken = [
        n
        for n in walk(method)
        if isinstance(n, ast.Subscript)
        and is_name(n.value, local)
        and isinstance(n.ctx, ast.Load)
        and not isinstance(n.slice, ast.Slice | ast.Tuple)
        and not _is_from_the_end(n.slice)
    ]
    return len(found) == len(taken) + 1


def _is_from_the_end(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def _bound(method: ast.FunctionDef) -> set[str]:
    """The names that a method binds, other than its parameters."""
    return {
        title
        for part in walk(method)
        if isinstance(part, ast.stmt)
        for title in targets(part)
    }


class _Taken(NodeTransformer):
    def __init__(self, local: str, first: ast.expr, last: ast.expr, count: ast.expr):
        self.local = local
        self.parts = {"first": first, "last": last, "count": count}

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not is_name(node.value, self.local):
            return node
        made = expression(
            "first + (last - first) * place / max(count - 1, 1)",
            place=cloned(node.slice),
            **cloned(self.parts),
        )
        return ast.copy_location(made, node)
