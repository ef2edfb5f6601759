"""Which layers names stand for: what a loop over layers binds, and containers that methods are given.

A place is an expression that begins with an attribute of self: `self.layers[0]["gate"]`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.source import self_attribute

Places = Mapping[str, ast.expr]
_DEPTH = 6
"""So many values are looked up, one in the other."""


def place_of(node: ast.expr, places: Places) -> ast.expr | None:
    """The place that an expression stands for, with names in terms of self; None for anything else."""
    match node:
        case ast.Name(id=name):
            return places.get(name)
        case ast.Attribute() if self_attribute(node):
            return node
        case ast.Subscript(value=owner, slice=index):
            place = place_of(owner, places)
            return place and ast.Subscript(place, index, ast.Load())
    return None


def bound_by(
    target: ast.expr, over: ast.expr, places: Places
) -> Iterator[tuple[str, ast.expr]]:
    """The names of a loop that stand for layers in its first pass."""
    for name, inner in _pairs(target, over):
        if place := _first(inner, places):
            yield name, place


def _pairs(target: ast.expr, over: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of a loop, with what each goes through."""
    match target, over:
        case (
            ast.Tuple(elts=[_, item]),
            ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_])
            | ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]),
        ):
            yield from _pairs(item, inner)
        case ast.Tuple(elts=items), ast.Call(func=ast.Name(id="zip"), args=given):
            for item, inner in zip(items, given, strict=False):
                yield from _pairs(item, inner)
        case (
            ast.Tuple(elts=items),
            ast.Tuple(elts=[ast.Tuple(elts=first), *_])
            | ast.List(elts=[ast.Tuple(elts=first), *_]),
        ):
            for item, inner in zip(items, first, strict=False):
                yield from _pairs(item, ast.Tuple([inner], ast.Load()))
        case ast.Name(), ast.Call(func=ast.Attribute(value=inner, attr="values")):
            yield from _pairs(target, inner)
        case ast.Name(id=name), _:
            yield name, over


def _first(over: ast.expr, places: Places) -> ast.expr | None:
    """The place of the first item of what a loop is over."""
    match over:
        case ast.Call(func=ast.Name(id="reversed"), args=[inner]):
            found, index = inner, -1
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
            return _first(inner, places)
        case ast.Tuple(elts=[first, *_]) | ast.List(elts=[first, *_]):
            return place_of(first, places)
        case ast.Subscript(value=inner, slice=ast.Slice(lower=lower, step=step)):
            back = isinstance(step, ast.UnaryOp)
            start = lower.value if isinstance(lower, ast.Constant) else 0
            found, index = inner, -1 if back else start
        case _:
            found, index = over, 0
    place = place_of(found, places)
    return place and ast.Subscript(place, ast.Constant(index), ast.Load())


def made_at(scope: Scope, node: ast.expr, depth: int = 0) -> ast.expr | None:
    """What `setup` makes at a place; None where that is not plain."""
    if depth > _DEPTH:
        return None
    match node:
        case ast.Subscript(value=owner, slice=index):
            whole = made_at(scope, owner, depth + 1)
            return whole and _plain(scope, _item(scope, owner, whole, index), depth)
    name = self_attribute(node)
    return _plain(scope, scope.declared.get(name or ""), depth)


def _plain(scope: Scope, made: ast.expr | None, depth: int) -> ast.expr | None:
    """What is made, behind a condition, a local name or a method that returns it."""
    match made:
        case ast.IfExp(body=first):
            return _plain(scope, first, depth)
        case ast.Name(id=local) if local in scope.locals and depth <= _DEPTH:
            return _plain(scope, scope.locals[local], depth + 1)
        case ast.Call(func=function, args=[], keywords=[]):
            method = scope.methods.get(self_attribute(function) or "")
            match method.body if method else ():
                case [*_, ast.Return(value=ast.expr() as value)]:
                    return value
    return made


def _item(
    scope: Scope, owner: ast.expr, whole: ast.expr, index: ast.expr
) -> ast.expr | None:
    """An item of a container."""
    at = _integer(index)
    match whole:
        case ast.ListComp(elt=made, generators=loops):
            return _of_loops(made, loops) if at == 0 else made
        case ast.DictComp(value=made):
            return made
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            named = [v for k, v in pairs if k and ast.dump(k) == ast.dump(index)]
            return (named or (values if at == 0 else [None]))[0]
        case ast.BinOp(left=left, op=ast.Add()) if at == 0:
            return _item(scope, owner, left, index)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            if added := _appended(scope, owner):
                # Those behind the first one may be made in the passes of a loop.
                return [*items, *added][0] if at == 0 else None
            return items[at] if at is not None and at < len(items) and items else None
    return None


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def _appended(scope: Scope, owner: ast.expr) -> list[ast.expr]:
    """What is appended to a list, by its name or that of the local that it is."""
    name = self_attribute(owner)
    value = scope.declared.get(name or "")
    names = {f"self.{name}", value.id if isinstance(value, ast.Name) else ""}
    setup = scope.methods.get("setup")
    found = []
    for node in walk(setup) if setup and name else ():
        match node:
            case ast.Call(func=ast.Attribute(value=to, attr="append"), args=[item]) if (
                ast.unparse(to) in names
            ):
                found.append(_of_loops(item, _around(setup, node)))
    return found


def _around(method: ast.AST | None, node: ast.AST) -> list[ast.For]:
    """The loops that a node stands in."""
    nodes = walk(method) if method else ()
    return [n for n in nodes if isinstance(n, ast.For) and node in walk(n)]


def _of_loops(made: ast.expr, loops: Sequence[ast.comprehension | ast.For]) -> ast.expr:
    """What is made in the first pass of loops: their variables are the first ones of what they loop over."""
    given: dict[str, ast.expr] = {}
    for loop in loops:
        given |= dict(_numbers(loop.target, loop.iter))
        for name, inner in _pairs(loop.target, loop.iter):
            if begun := _begun(inner):
                given[name] = ast.Subscript(begun, ast.Constant(0), ast.Load())
    return _Given(given).visit(copy.deepcopy(made)) if given else made


def _numbers(target: ast.expr, over: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The variable of a loop that is a number, with the one that it is first."""
    match target, over:
        case ast.Name(id=name), ast.Call(func=ast.Name(id="range"), args=[_]):
            yield name, ast.Constant(0)
        case ast.Name(id=name), ast.Call(func=ast.Name(id="range"), args=[first, *_]):
            yield name, first
        case (
            ast.Tuple(elts=[ast.Name(id=name), _]),
            ast.Call(func=ast.Name(id="enumerate"), args=[_]),
        ):
            yield name, ast.Constant(0)


def _begun(over: ast.expr) -> ast.expr | None:
    """What begins with the first item that a loop goes through; None where that is not plain."""
    match over:
        case ast.Subscript(value=inner, slice=ast.Slice(lower=None, step=None)):
            return inner
        case ast.Name() | ast.Attribute():
            return over
    return None


class _Given(ast.NodeTransformer):
    """Values in the place of names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)
