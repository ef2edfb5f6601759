"""Numbers that each pass of a loop changes, where layers are made of them: each is what it is in that pass.

width = self.width                                for i in range(self.depth):
for _ in range(self.depth):                           x = nn.Dense(self.width * 2**i)(x)
    x = nn.Dense(width)(x)         becomes        x = nn.Dense(self.width * 2**self.depth)(x)
    width *= 2
x = nn.Dense(width)(x)

Layers are made in setup, where no pass is before another.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    names,
    replaced,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def _indices() -> Iterator[str]:
    """Names of what counts passes."""
    yield from ("i", "index", "place", "number")
    yield from (f"index_{number}" for number in itertools.count(2))


def without_counted_sizes(origin: Origin) -> None:
    """Write them so in methods of flax and haiku, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("flax", "haiku"):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                for body in [*_bodies(method)]:
                    for loop in [p for p in body if isinstance(p, ast.For)]:
                        _write(origin, method, body, loop)
                located(method)


def _bodies(method: ast.FunctionDef) -> list[list[ast.stmt]]:
    found = [getattr(p, t, None) for p in walk(method) for t in ("body", "orelse")]
    return [b for b in found if isinstance(b, list) and b]


def _write(
    origin: Origin, method: ast.FunctionDef, body: list[ast.stmt], loop: ast.For
) -> None:
    for change in [*loop.body]:
        made = _Counted.of(method, body, loop, change)
        if made is not None and _makes_layers(origin, loop, made.local):
            made.write(method, body, loop, change)


@dataclass(frozen=True)
class _Counted:
    """A number that a loop changes by one statement."""

    local: str
    begun: ast.Assign
    op: ast.operator
    by: ast.expr

    @staticmethod
    def of(
        method: ast.FunctionDef, body: list[ast.stmt], loop: ast.For, change: ast.stmt
    ) -> _Counted | None:
        """The number that a statement of a loop changes; None where that is not followed."""
        match change:
            case ast.AugAssign(target=ast.Name(id=local), op=op, value=by):
                pass
            case ast.Assign(
                targets=[ast.Name(id=local)],
                value=ast.BinOp(left=left, op=op, right=right),
            ) if is_name(left, local):
                by = right
            case ast.Assign(
                targets=[ast.Name(id=local)],
                value=ast.BinOp(
                    left=left, op=ast.Add() | ast.Mult() as op, right=right
                ),
            ) if is_name(right, local):
                by = left
            case _:
                return None
        stored = [
            n
            for n in walk(method)
            if is_name(n, local) and not isinstance(n.ctx, ast.Load)  # type: ignore[attr-defined]
        ]
        begun = [
            part
            for part in body[: body.index(loop)]
            if isinstance(part, ast.Assign) and is_name(part.targets[0], local)
        ]
        known = isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv)
        ends = any(isinstance(p, ast.Break | ast.Continue) for p in walk(loop))
        if len(stored) != 2 or len(begun) != 1 or not known or ends or loop.orelse:
            return None
        if not _is_told(begun[0].value) or not _is_told(by):
            return None
        return _Counted(local, begun[0], op, by)

    def write(
        self,
        method: ast.FunctionDef,
        body: list[ast.stmt],
        loop: ast.For,
        change: ast.stmt,
    ) -> None:
        """Write what it is in each pass."""
        index, count = _passes(method, loop)
        at = loop.body.index(change)
        before = {self.local: self.after(ast.Name(index, ast.Load()))}
        later = ast.BinOp(ast.Name(index, ast.Load()), ast.Add(), ast.Constant(1))
        after = {self.local: self.after(later)}
        loop.body = [
            *(_with(part, before) for part in loop.body[:at]),
            *(_with(part, after) for part in loop.body[at + 1 :]),
        ] or [ast.Pass()]
        place = body.index(loop)
        done = {self.local: self.after(count)}
        body[place + 1 :] = [_with(part, done) for part in body[place + 1 :]]
        if not any(
            is_name(n, self.local) and isinstance(n.ctx, ast.Load)  # type: ignore[attr-defined]
            for n in walk(method)
        ):
            body.remove(self.begun)

    def after(self, passes: ast.expr) -> ast.expr:
        """What it is after so many passes."""
        texts = {
            ast.Add: "first + by * passes",
            ast.Sub: "first - by * passes",
            ast.Mult: "first * by ** passes",
            ast.FloorDiv: "first // by ** passes",
        }
        given = cloned((self.begun.value, self.by, passes))
        return expression(
            texts[type(self.op)], first=given[0], by=given[1], passes=given[2]
        )


def _is_told(node: ast.expr) -> bool:
    """Whether numbers and hyperparameters alone tell a value."""
    owners = {id(p.value) for p in walk(node) if self_attribute(p) is not None}  # type: ignore[attr-defined]
    plain = (ast.Constant, ast.BinOp, ast.operator, ast.expr_context)
    return all(
        isinstance(part, plain)
        or self_attribute(part) is not None
        or id(part) in owners
        for part in walk(node)
    )


def _passes(method: ast.FunctionDef, loop: ast.For) -> tuple[str, ast.expr]:
    """The name that counts the passes of a loop, which it gets where it has none, and how many they are."""
    taken = names(method) | {a.arg for a in walk(method) if isinstance(a, ast.arg)}
    index = next(name for name in _indices() if name not in taken)
    match loop:
        case ast.For(
            target=ast.Name(id=title) as target,
            iter=ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]),
        ):
            if title == "_" or title in {t for p in loop.body for t in targets(p)}:
                target.id = index
            return target.id, count
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=title), *_]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[source], keywords=[]),
        ) if title != "_":
            return title, ast.Call(ast.Name("len", ast.Load()), [source], [])
    source = loop.iter
    loop.target = ast.Tuple([ast.Name(index, ast.Store()), loop.target], ast.Store())
    loop.iter = ast.Call(ast.Name("enumerate", ast.Load()), [source], [])
    return index, ast.Call(ast.Name("len", ast.Load()), [cloned(source)], [])


def _with(part: ast.stmt, parts: dict[str, ast.expr]) -> ast.stmt:
    return replaced(part, parts)  # type: ignore[arg-type,return-value]


def _makes_layers(origin: Origin, loop: ast.For, local: str) -> bool:
    """Whether layers of a loop are made of a number."""
    return any(
        isinstance(call, ast.Call)
        and any(
            local in names(a) for a in (*call.args, *(k.value for k in call.keywords))
        )
        and (
            getattr(call.func, "id", "") in origin.classes
            or origin.qualified(call.func) in LAYERS
        )
        for call in walk(loop)
    )
