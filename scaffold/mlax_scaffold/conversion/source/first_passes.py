"""What the names of a loop stand for in its first pass."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    folded,
    is_name,
    literal,
    replaced,
    same,
    targets,
    visited,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned


def first_pass(
    target: ast.expr,
    source: ast.expr,
    before: Mapping[str, ast.expr],
    body: list[ast.stmt],
    translated: Callable[[ast.expr], ast.expr],
) -> dict[str, ast.expr]:
    """The values of names in the first pass of a loop.

    Args:
        target: what the loop binds.
        source: what it goes over.
        before: what names are before the loop.
        body: the statements of a pass, as far as they are run before the values are asked for.
        translated: writes an expression of the body as one of setup.
    """
    if isinstance(source, ast.Name):
        source = before.get(source.id, source)
    known = {**before, **_items(target, source)}
    for part in body:
        if not isinstance(part, ast.Assign) or len(part.targets) != 1:
            continue
        bound = part.targets[0]
        if isinstance(bound, ast.Name):
            made = replaced(translated(part.value), known)
            known[bound.id] = visited(_Decide(), folded(made))
    return known


def _items(target: ast.expr, source: ast.expr) -> dict[str, ast.expr]:
    """What a target stands for, where the loop begins."""
    match source:
        case ast.Call(func=ast.Name(id="range"), args=[*ends]):
            first = ends[0] if len(ends) > 1 else constant(0)
            return {target.id: first} if isinstance(target, ast.Name) else {}
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner]):
            if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                number, item = target.elts
                counted = (
                    {number.id: constant(0)} if isinstance(number, ast.Name) else {}
                )
                return counted | _items(item, inner)
            return {}
        case ast.Call(func=ast.Name(id="zip"), args=[*inner]):
            found: dict[str, ast.expr] = {}
            if isinstance(target, ast.Tuple) and len(target.elts) == len(inner):
                for one, part in zip(target.elts, inner, strict=True):
                    found |= _items(one, part)
            return found
    first = _first(source)
    parts = first.elts if isinstance(first, ast.Tuple | ast.List) else []
    if isinstance(target, ast.Tuple) and len(parts) == len(target.elts):
        pairs = zip(target.elts, parts, strict=True)
        return {one.id: part for one, part in pairs if isinstance(one, ast.Name)}
    return {target.id: first} if isinstance(target, ast.Name) and first else {}


def of_comprehension(
    generators: list[ast.comprehension], setup: Sequence[ast.stmt] = ()
) -> dict[str, ast.expr]:
    """What the names of a comprehension stand for at first.

    Args:
        generators: what it goes over.
        setup: the statements before it, which bind the lists that it may go over.
    """
    before = _locals(setup)
    found: dict[str, ast.expr] = {}
    for generator in generators:
        source = generator.iter
        listed = before.get(source.id) if isinstance(source, ast.Name) else None
        match listed:
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
                source = inner
        found |= _items(generator.target, source)
    return {k: with_elements(v, before) for k, v in found.items()}


def in_first_pass(
    node: ast.expr, first: Mapping[str, ast.expr], setup: Sequence[ast.stmt]
) -> ast.expr:
    """What an expression is in the first pass of a comprehension.

    Args:
        node: of what the comprehension makes in each pass.
        first: what its names stand for then.
        setup: the statements before it, which bind the lists that it takes elements of.
    """
    return folded(with_elements(replaced(node, first), _locals(setup)))


def _locals(setup: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """What names stand for that are bound once."""
    places = [t for part in setup for t in targets(part)]
    return {
        part.targets[0].id: part.value
        for part in setup
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
        if places.count(part.targets[0].id) == 1
    }


def with_elements(node: ast.expr, before: Mapping[str, ast.expr]) -> ast.expr:
    """An expression with the elements that lists begin with in the place of their indices: `dims[0]`."""
    return visited(_Elements(before), cloned(node))


class _Elements(NodeTransformer):
    def __init__(self, before: Mapping[str, ast.expr]):
        self.before = before

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        at, value = literal(node.slice), node.value
        listed = (
            self.before.get(value.id, value) if isinstance(value, ast.Name) else value
        )
        elements, _ = _beginning(listed)
        if isinstance(listed, ast.ListComp) and at == 0:
            first = of_comprehension(listed.generators)
            return folded(replaced(listed.elt, first)) if first else node
        if isinstance(at, int) and 0 <= at < len(elements):
            return cloned(elements[at])
        return node


def _beginning(node: ast.expr) -> tuple[list[ast.expr], bool]:
    """The elements that a list begins with, as far as they are written down, and whether they are all."""
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            open_ = [i for i, e in enumerate(elts) if isinstance(e, ast.Starred)]
            return (elts[: open_[0]], False) if open_ else (elts, True)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, whole = _beginning(left)
            second, ends = _beginning(right) if whole else ([], False)
            return [*first, *second], whole and ends
    return [], False


def _first(source: ast.expr) -> ast.expr | None:
    """The first element of a sequence."""
    match source:
        case ast.Call(func=func, args=[inner]) if is_name(func, "reversed"):
            return expression("a[-1]", a=inner)
        case ast.Subscript(value=inner, slice=ast.Slice(lower=lower, step=None)):
            at = constant(0) if lower is None else lower
            return expression("a[i]", a=inner, i=at)
        case ast.Name() | ast.Attribute():
            return expression("a[0]", a=source)
        case ast.BinOp(op=ast.Add()):
            elements, _ = _beginning(source)
            return elements[0] if elements else None
        case ast.ListComp(elt=elt, generators=[*generators]):
            first = of_comprehension(generators)
            return folded(replaced(elt, first)) if first else None
        case ast.Tuple(elts=[first, *_]) | ast.List(elts=[first, *_]):
            match first:
                case ast.Starred(value=ast.ListComp(elt=elt, generators=generators)):
                    made = replaced(elt, of_comprehension(generators))
                    return visited(_Decide(), folded(made))
                case ast.Starred(value=ast.IfExp(test=test, body=one, orelse=other)):
                    return _either(test, _first(one), _first(other))
                case ast.Starred():
                    return None
            return first
    return None


def _either(
    test: ast.expr, one: ast.expr | None, other: ast.expr | None
) -> ast.expr | None:
    """The first element of one list or another, part by part."""
    match one, other:
        case ast.Tuple(elts=mine), ast.Tuple(elts=others) if len(mine) == len(others):
            pairs = zip(mine, others, strict=True)
            parts = [_either(test, a, b) for a, b in pairs]
            return ast.Tuple([p for p in parts if p is not None], ast.Load())
    if one is None or other is None or same(one, other):
        return one
    return ast.IfExp(test, one, other)


class _Decide(NodeTransformer):
    """Takes the side of a choice that literals decide."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        match node.test:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                sides = literal(left), literal(right)
                if all(type(side) is int for side in sides):
                    if isinstance(operator, ast.Eq):
                        return node.body if sides[0] == sides[1] else node.orelse
                    if isinstance(operator, ast.Gt):
                        return node.body if sides[0] > sides[1] else node.orelse  # type: ignore[operator]
        return node
