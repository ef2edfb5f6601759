"""Loops over layers that are written down, `for norm in (self.a, self.b):`, as statements in a row.

Those over several lists, `for layer in (*self.encoders, *self.decoders):`, are one loop after the other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, dotted

_MOST = 8
"""So many passes are written down."""


def unrolled(source: Source, node: ast.AST) -> Fix | None:
    """The loop or the list in whose items a layer stands, pass by pass; None where it is in none."""
    place = source.start(node), source.end(node)
    for loop in walk(source.tree):
        match loop:
            case ast.For(target=target, iter=items):
                pass
            case ast.ListComp(
                generators=[ast.comprehension(target=target, iter=items, ifs=[])]
            ):
                pass
            case _:
                continue
        if any((source.start(n), source.end(n)) == place for n in _nodes(items)):
            if parts := _parts(items, source):
                text = _in_turn(source, loop, items, parts)
                return None if text is None else Fix((source.edit(loop, text),))
            passes = _passes(source, target, items)
            if passes is None or not _stays(items, loop):
                return None
            made = _statements if isinstance(loop, ast.For) else _items
            text = made(source, loop, passes)  # type: ignore[arg-type]
            return None if text is None else Fix((source.edit(loop, text),))
    return None


@dataclass(frozen=True)
class _Part:
    """One of several that are gone over: what that is, and its text in a loop of its own."""

    node: ast.expr
    text: str
    count: str
    """The number of its items."""


def _parts(items: ast.expr, source: Source) -> list[_Part] | None:
    """What is gone over one after the other; None where that is one thing."""
    match items:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = [(side, _parts(side, source)) for side in (left, right)]
            found = [p or [_part(side, source)] for side, p in sides]
            return [part for side in found for part in side]
        case ast.Tuple(elts=rows) | ast.List(elts=rows) if any(
            isinstance(row, ast.Starred) for row in rows
        ):
            return [_part(row, source, alone=True) for row in rows]
        case ast.Call(func=function, args=rows, keywords=[]) if (
            dotted(function) in ("chain", "itertools.chain") and len(rows) > 1
        ):
            return [_part(row, source) for row in rows]
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]):
            parts = _parts(inner, source)
            return parts and [
                replace(part, text=f"enumerate({', '.join([part.text, *before])})")
                for part, before in zip(parts, _before(parts), strict=True)
            ]
    return None


def _part(node: ast.expr, source: Source, *, alone: bool = False) -> _Part:
    """A list, or the one item that stands `alone` beside the lists."""
    if alone and not isinstance(node, ast.Starred):
        return _Part(node, f"({source.text_of(node)},)", "1")
    value = node.value if isinstance(node, ast.Starred) else node
    text = source.text_of(value)
    if isinstance(value, ast.IfExp | ast.BoolOp):
        text = f"({text})"  # In a comprehension `if` would begin a condition.
    return _Part(value, text, f"len({text})")


def _before(parts: list[_Part]) -> list[list[str]]:
    """The number of items before each part, but for the first."""
    counts = [part.count for part in parts]
    return [[" + ".join(counts[:n])] if n else [] for n in range(len(parts))]


def _in_turn(
    source: Source, loop: ast.For | ast.ListComp, items: ast.expr, parts: list[_Part]
) -> str | None:
    """A loop for each of several parts; None where these would not do what the whole does."""
    inside = [n for s in getattr(loop, "body", []) for n in walk(s)]
    ends = getattr(loop, "orelse", []) or any(isinstance(n, ast.Break) for n in inside)
    if ends or not all(_stays(part.node, loop) for part in parts):
        return None
    before = source.between(source.start(loop), source.start(items))
    after = source.between(source.end(items), source.end(loop))
    texts = [f"{before}{part.text}{after}" for part in parts]
    if isinstance(loop, ast.ListComp):
        whole = any(
            isinstance(n, ast.Assign | ast.Return) and n.value is loop
            for n in walk(source.tree)
        )
        return " + ".join(texts) if whole else f"({' + '.join(texts)})"
    return f"\n{' ' * (source.start(loop)[1] - 1)}".join(texts)


def _stays(items: ast.expr, loop: ast.AST) -> bool:
    """Whether items are the same wherever they are read: no calls, and nothing the loop assigns."""
    body = loop.body if isinstance(loop, ast.For) else []
    stored = {
        dotted(n)
        for statement in body
        for n in walk(statement)
        if isinstance(n, ast.Name | ast.Attribute) and isinstance(n.ctx, ast.Store)
    }
    for node in _nodes(items):
        names = isinstance(node, ast.Call) and dotted(node.func)
        if isinstance(node, ast.Call) and names not in ("zip", "enumerate", "reversed"):
            return False
        if dotted(node) in stored:
            return False
    return True


def _nodes(items: ast.expr) -> Iterator[ast.expr]:
    return (n for n in walk(items) if isinstance(n, ast.expr))


def _passes(
    source: Source, target: ast.expr, items: ast.expr
) -> list[dict[str, str]] | None:
    """What the names of a loop stand for in each pass; None where the text does not tell it."""
    rows = _rows(items)
    if rows is None or not 1 <= len(rows) <= _MOST:
        return None
    found = []
    for row in rows:
        names: dict[str, str] = {}
        if not _bind(source, target, row, names):
            return None
        found.append(names)
    return found


def _rows(items: ast.expr) -> list[ast.expr] | None:
    match items:
        case ast.List(elts=rows) | ast.Tuple(elts=rows):
            return None if any(isinstance(r, ast.Starred) for r in rows) else rows
        case ast.Call(
            func=ast.Name(id="range"), args=[ast.Constant(value=int(number))]
        ) if number <= _MOST:
            return [ast.Constant(i) for i in range(number)]
        case ast.Call(func=ast.Name(id="zip"), args=columns):
            several = [_rows(c) for c in columns]
            known = [c for c in several if c is not None]
            if len(known) < len(several) or len({*map(len, known)}) != 1:
                return None
            return [ast.Tuple(list(row)) for row in zip(*known, strict=True)]
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]):
            rows = _rows(inner)
            return rows and [
                ast.Tuple([ast.Constant(i), row]) for i, row in enumerate(rows)
            ]
        case ast.Call(func=ast.Name(id="reversed"), args=[inner]):
            rows = _rows(inner)
            return rows and rows[::-1]
    return None


def _bind(
    source: Source, target: ast.expr, value: ast.expr, names: dict[str, str]
) -> bool:
    match target, value:
        case ast.Name(id=name), _:
            # The number of a pass has no place in the text.
            text = (
                source.text_of(value)
                if hasattr(value, "lineno")
                else ast.unparse(value)
            )
            plain = dotted(value) or isinstance(value, ast.Constant | ast.Call)
            names[name] = text if plain else f"({text})"
            return not isinstance(value, ast.Tuple) or hasattr(value, "lineno")
        case ast.Tuple(elts=parts), ast.Tuple(elts=values) | ast.List(elts=values):
            return len(parts) == len(values) and all(
                _bind(source, p, v, names) for p, v in zip(parts, values, strict=True)
            )
    return False


def _statements(
    source: Source, loop: ast.For, passes: list[dict[str, str]]
) -> str | None:
    body = loop.body
    kept = [n for s in body for n in walk(s)]
    if loop.orelse or any(isinstance(n, ast.Break | ast.Continue) for n in kept):
        return None
    if any(
        isinstance(n, ast.Constant | ast.JoinedStr) and n.lineno != n.end_lineno
        for n in kept
    ):
        return None
    start, end = source.start(body[0]), source.end(body[-1])
    column = source.start(loop)[1]
    while source.lines[start[0] - 2].lstrip().startswith("#"):
        start = start[0] - 1, start[1]
    texts = []
    for names in passes:
        text = _replaced(source, body, start, end, names)
        if text is None:
            return None
        first, *rest = text.split("\n")
        less = start[1] - column if start[0] > loop.lineno else 0
        gone = " " * less
        lines = [first, *(line.removeprefix(gone) for line in rest)]
        texts.append("\n".join(lines))
    return f"\n{' ' * (column - 1)}".join(texts)


def items_of(source: Source, made: ast.expr) -> list[str] | None:
    """The items of a comprehension over what is written down; None where the text does not tell them."""
    match made:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner], keywords=[]):
            return items_of(source, inner)
        case (
            ast.ListComp(
                elt=elt,
                generators=[ast.comprehension(target=target, iter=items, ifs=[])],
            )
            | ast.GeneratorExp(
                elt=elt,
                generators=[ast.comprehension(target=target, iter=items, ifs=[])],
            )
        ):
            passes = _passes(source, target, items)
            return None if passes is None else _texts(source, elt, passes)
    return None


def _texts(
    source: Source, item: ast.expr, passes: list[dict[str, str]]
) -> list[str] | None:
    start, end = source.start(item), source.end(item)
    texts = [_replaced(source, [item], start, end, names) for names in passes]
    found = [text for text in texts if text is not None]
    return found if len(found) == len(texts) else None


def _items(
    source: Source, made: ast.ListComp, passes: list[dict[str, str]]
) -> str | None:
    texts = _texts(source, made.elt, passes)
    return None if texts is None else f"[{', '.join(texts)}]"


def _replaced(
    source: Source,
    nodes: list[ast.stmt] | list[ast.expr],
    start: tuple[int, int],
    end: tuple[int, int],
    names: Mapping[str, str],
) -> str | None:
    """The text from one place to another with other texts for names; None where they are bound there."""
    uses = []
    for node in (n for given in nodes for n in walk(given)):
        if isinstance(node, ast.arg) and node.arg in names:
            return None
        if isinstance(node, ast.Name) and node.id in names:
            if not isinstance(node.ctx, ast.Load):
                return None
            uses.append(node)
    text, at = "", start
    for use in sorted(uses, key=source.start):
        text += source.between(at, source.start(use)) + names[use.id]
        at = source.end(use)
    return text + source.between(at, end)
