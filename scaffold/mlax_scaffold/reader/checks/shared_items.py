"""What the expressions of a method have in common with the lists and dictionaries of states.

Such a container is a value in a method, as are those in it. So what is set in one that has got another name,
or stands in another list, is set in a copy. Expressions have so many new containers around what is shared:
`self.books` has none, `[*self.books]` one, and an item of that none.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from mlax_scaffold.reader.source import self_attribute

_LISTS = ("filter", "iter", "list", "reversed", "set", "sorted", "tuple")
_ITEMS = ("max", "min", "next")
_ADDING = ("append", "insert", "setdefault")
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


class Shared(NamedTuple):
    """A part of a method, with how much each of its names has around what is shared."""

    node: ast.AST
    names: Mapping[str, int]


def parts_of(method: ast.FunctionDef, held: Collection[str]) -> Iterator[Shared]:
    """All nodes of a method; `held` are the attributes that are containers of states."""
    yield from _Flow(held).function(method, {})


def around(node: ast.expr, names: Mapping[str, int], held: Collection[str]) -> int:
    """How many new containers an expression has around what is shared; -1 where nothing is."""
    if self_attribute(node) in held:
        return 0
    match node:
        case ast.Name(id=name):
            return names.get(name, -1)
        case ast.Subscript(value=owner, slice=ast.Slice()):
            return _new(_item(around(owner, names, held)))
        case ast.Subscript(value=owner):
            return _item(around(owner, names, held))
        case ast.NamedExpr(value=value):
            return around(value, names, held)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return _new(_least(_of_part(part, names, held) for part in parts))
        case ast.Dict(keys=keys, values=values):
            inside = (
                around(v, names, held) if k else _item(around(v, names, held))
                for k, v in zip(keys, values, strict=True)
            )
            return _new(_least(inside))
        case ast.IfExp(body=first, orelse=second):
            return _least(around(part, names, held) for part in (first, second))
        case ast.BoolOp(values=values):
            return _least(around(part, names, held) for part in values)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.BitOr(), right=right):
            sides = (around(part, names, held) for part in (left, right))
            return _new(_least(map(_item, sides)))
        case ast.Call(func=function, args=args):
            return _of_call(function, args, names, held)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            own = dict(names)
            for part in node.generators:
                _bind(part.target, _item(around(part.iter, own, held)), own)
            value = node.value if isinstance(node, ast.DictComp) else node.elt
            return _new(around(value, own, held))
    return -1


def _of_call(
    function: ast.expr,
    args: Sequence[ast.expr],
    names: Mapping[str, int],
    held: Collection[str],
) -> int:
    given = [around(_bare(arg), names, held) for arg in args]
    match function:
        case ast.Name(id=name) if name in _LISTS:
            return _new(_item(_least(given)))
        case ast.Name(id=name) if name in _ITEMS:
            return _item(_least(given))
        case ast.Name(id="enumerate" | "zip"):
            return _new(_new(_item(_least(given))))
        case ast.Name(id="dict"):
            # Of pairs, or of another dictionary.
            return _new(_item(_item(_least(given))))
        case ast.Attribute(value=owner, attr="items"):
            return _new(_new(_item(around(owner, names, held))))
        case ast.Attribute(value=owner, attr="values" | "copy"):
            return _new(_item(around(owner, names, held)))
        case ast.Attribute(value=owner, attr="get" | "pop" | "setdefault"):
            return _item(around(owner, names, held))
    return -1


def _of_part(part: ast.expr, names: Mapping[str, int], held: Collection[str]) -> int:
    found = around(_bare(part), names, held)
    return _item(found) if isinstance(part, ast.Starred) else found


def _bare(part: ast.expr) -> ast.expr:
    return part.value if isinstance(part, ast.Starred) else part


def _new(inside: int) -> int:
    """That of a new container of something."""
    return inside + 1 if inside >= 0 else -1


def _item(whole: int) -> int:
    """That of what is in a container: in one that is shared, all is."""
    return max(whole - 1, 0) if whole >= 0 else -1


def _least(found: Iterator[int] | Sequence[int]) -> int:
    return min((n for n in found if n >= 0), default=-1)


def _bind(target: ast.expr, found: int, names: dict[str, int]) -> None:
    """Note what a target is given."""
    match target:
        case ast.Name(id=name):
            names.pop(name, None)
            if found >= 0:
                names[name] = found
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                inside = _item(found)
                starred = isinstance(part, ast.Starred)
                _bind(_bare(part), _new(inside) if starred else inside, names)
        case ast.Subscript(value=owner):
            _add(owner, found, names)


def _add(owner: ast.expr, found: int, names: dict[str, int]) -> None:
    """Note what a container gets, beside what it has."""
    depth = 0
    while isinstance(owner, ast.Subscript):
        owner, depth = owner.value, depth + 1
    if isinstance(owner, ast.Name) and found >= 0:
        known = names.get(owner.id, -1)
        names[owner.id] = _least((known, found + depth + 1))


def _note(node: ast.AST, names: dict[str, int], held: Collection[str]) -> None:
    """What a part of a statement gives names to."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Tuple(elts=values)):
            plain = not any(isinstance(p, ast.Starred) for p in (*parts, *values))
            if plain and len(parts) == len(values):
                found = [around(value, names, held) for value in values]
                for part, one in zip(parts, found, strict=True):
                    _bind(part, one, names)
            else:
                _bind(node.targets[0], around(node.value, names, held), names)
        case ast.Assign(targets=targets, value=value):
            found = around(value, names, held)
            for target in targets:
                _bind(target, found, names)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            _bind(target, around(value, names, held), names)
        case ast.Call(func=ast.Attribute(value=owner, attr=how), args=[*_, last]) if (
            how in _ADDING
        ):
            _add(owner, around(last, names, held), names)
        case ast.Call(func=ast.Attribute(value=owner, attr="extend"), args=[more]):
            _add(owner, _item(around(more, names, held)), names)


class _Flow:
    """Walks the statements of a function in their order, with what names stand for there."""

    def __init__(self, held: Collection[str]) -> None:
        self.held = held
        self.anywhere: dict[str, int] = {}
        """What functions inside may see."""
        self.inside: list[ast.FunctionDef | ast.Lambda] = []

    def function(
        self, function: ast.FunctionDef | ast.Lambda, outer: Mapping[str, int]
    ) -> Iterator[Shared]:
        own = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
        names = {name: found for name, found in outer.items() if name not in own}
        if isinstance(function, ast.FunctionDef):
            yield from self.statements(function.body, names)
        else:
            yield from self.simple(function.body, names)
        for inner in self.inside:
            yield from _Flow(self.held).function(inner, {**names, **self.anywhere})

    def statements(
        self, body: Sequence[ast.stmt], names: dict[str, int]
    ) -> Iterator[Shared]:
        for statement in body:
            blocks = _blocks(statement)
            if not blocks:
                yield from self.simple(statement, names)
                continue
            headers = (
                n for n in ast.iter_child_nodes(statement) if isinstance(n, ast.expr)
            )
            for header in headers:
                yield from self.simple(header, names)
            loops = isinstance(statement, ast.For | ast.While)
            before = dict(names)
            found: list[Shared] = []
            for _ in range(2 if loops else 1):  # A pass sees what the one before did.
                found = []
                after = [dict(before)]
                for block in blocks:
                    own = dict(names) if loops else dict(before)
                    if isinstance(statement, ast.For):
                        over = _item(around(statement.iter, own, self.held))
                        _bind(statement.target, over, own)
                    found = [*found, *self.statements(block, own)]
                    after.append(own)
                if not loops and isinstance(statement, ast.If) and statement.orelse:
                    after = after[1:]
                names.clear()
                for one in after:
                    _join(one, names)
            yield from found

    def simple(self, node: ast.AST, names: dict[str, int]) -> Iterator[Shared]:
        """What does not hold statements."""
        nodes = [*_nodes([node])]
        for part in nodes:
            _note(part, names, self.held)
        _join(names, self.anywhere)
        seen = dict(names)
        for part in nodes:
            if isinstance(part, _FUNCTIONS):
                self.inside.append(part)
            yield Shared(part, seen)


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The lists of statements that one holds, but for those of a function."""
    match statement:
        case ast.FunctionDef():
            return []
        case ast.Match(cases=cases):
            return [case.body for case in cases]
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
            return [body, *(h.body for h in handlers), orelse, final]
    found = (getattr(statement, name, None) for name in ("body", "orelse"))
    return [block for block in found if block]


def _join(names: Mapping[str, int], others: dict[str, int]) -> None:
    """Add what names stand for elsewhere."""
    for name, found in names.items():
        others[name] = min(found, others.get(name, found))


def _nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes, but for those in the functions inside."""
    for node in body:
        yield node
        if not isinstance(node, _FUNCTIONS):
            yield from _nodes([*ast.iter_child_nodes(node)])
