"""What the elements of a list of one class are given, as one expression over all that fills the list."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field
from typing import Protocol

from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    is_name,
    literal,
    names,
    replaced,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


@dataclass
class Piece:
    """An element, or what a loop makes of one."""

    holder: ast.AST
    """The list, the comprehension or the call that holds it."""
    element: ast.expr
    loops: list[ast.comprehension] = field(default_factory=list)


class Filled(Protocol):
    """A list, by the statements that fill it."""

    statements: list[tuple[ast.stmt, list[Piece]]]
    splits: dict[str, ast.expr]
    """Names of keys that a constructor splits, and how many there are."""


class _Unfollowed(Exception):
    """A statement that is no part of an expression."""


class Sources:
    """Reads the statements that fill a list, whose elements are replaced by what they are given."""

    def __init__(self, made: Filled, body: list[ast.stmt]):
        self.made, self.body = made, body

    def whole(self) -> tuple[ast.expr | None, list[list[ast.stmt]]]:
        """All elements as one list, and what is left of each statement; None where it is not followed."""
        elements: list[ast.expr] = []
        rest: list[list[ast.stmt]] = []
        try:
            for part, found in self.made.statements:
                more, left = self._statement(part, found)
                elements += more
                rest.append(left)
        except _Unfollowed:
            return None, []
        return ast.List(elements, ast.Load()), rest

    def _statement(
        self, node: ast.stmt, found: list[Piece]
    ) -> tuple[list[ast.expr], list[ast.stmt]]:
        match node:
            case ast.For():
                if not found:
                    return [], [node]
                return self._loop(node, found)
            case ast.If(test=test, body=body, orelse=orelse):
                sides = [self._branch(side, found) for side in (body, orelse)]
                if any(left for _, left in sides):
                    raise _Unfollowed
                one, other = (ast.List(more, ast.Load()) for more, _ in sides)
                chosen = ast.IfExp(cloned(test), one, other)
                return [ast.Starred(chosen, ast.Load())], []
        made: list[ast.expr] = []
        for piece in found:
            holder = piece.holder
            if isinstance(holder, ast.ListComp):
                self._keyless(holder.generators[0])
                made.append(ast.Starred(holder, ast.Load()))
            elif isinstance(holder, ast.Call):
                made.append(holder.args[0])
            elif isinstance(holder, ast.List) and piece is next(
                p for p in found if p.holder is holder
            ):
                made += holder.elts
        return made, [] if found or isinstance(node, ast.Assign | ast.AnnAssign) else [
            node
        ]

    def _branch(
        self, body: list[ast.stmt], found: list[Piece]
    ) -> tuple[list[ast.expr], list[ast.stmt]]:
        elements: list[ast.expr] = []
        left: list[ast.stmt] = []
        for part in body:
            inside = {id(p) for p in walk(part)}
            own = [p for p in found if id(p.holder) in inside]
            more, rest = self._statement(part, own) if own else ([], [part])
            elements += more
            left += rest
        return elements, left

    def _loop(
        self, node: ast.For, found: list[Piece]
    ) -> tuple[list[ast.expr], list[ast.stmt]]:
        """A loop that appends one element in each pass, and may bind what the next pass reads."""
        [piece, *others] = found
        at = next(
            (
                i
                for i, part in enumerate(node.body)
                if isinstance(part, ast.Expr) and part.value is piece.holder
            ),
            None,
        )
        if others or at is None or piece.loops:
            raise _Unfollowed
        assert isinstance(piece.holder, ast.Call)
        element = piece.holder.args[0]
        loop = ast.comprehension(cloned(node.target), cloned(node.iter), [], 0)
        self._keyless(loop)
        bound = {t for part in node.body for t in targets(part)} & names(element)
        before: dict[str, ast.expr] = {}
        for part in node.body[:at]:
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                before[part.targets[0].id] = replaced(part.value, before)
        element = replaced(element, before)
        for local in sorted(bound - {*before}):
            element, loop = self._carried(node, local, element, loop)
        if {t for part in node.body for t in targets(part)} & names(element) - set(
            targets(loop.target)
        ):
            raise _Unfollowed
        made = ast.Starred(ast.ListComp(element, [loop]), ast.Load())
        rest = copy.copy(node)
        rest.body = [part for part in node.body if part is not node.body[at]]
        return [made], [rest] if self._is_read(rest, node) else []

    def _is_read(self, rest: ast.For, node: ast.For) -> bool:
        """Whether what is left of a loop does anything that is read later."""
        if any(not isinstance(part, ast.Assign) for part in rest.body):
            return bool(rest.body)
        bound = {t for part in rest.body for t in targets(part)}
        later = self.body[self._top(node) + 1 :]
        return bool(bound & {n for part in later for n in names(part)})

    def _carried(
        self, node: ast.For, local: str, element: ast.expr, loop: ast.comprehension
    ) -> tuple[ast.expr, ast.comprehension]:
        """A name that each pass leaves for the next one, as something of the pass itself."""
        first = [
            part.value
            for part in self.body[: self._top(node)]
            if isinstance(part, ast.Assign) and list(targets(part)) == [local]
        ]
        later = [
            part.value
            for part in node.body
            if isinstance(part, ast.Assign) and list(targets(part)) == [local]
        ]
        if not first or len(later) != 1:
            raise _Unfollowed
        begin, after = first[-1], later[0]
        item = loop.target.id if isinstance(loop.target, ast.Name) else ""
        if is_name(after, item) and item:
            pair = ast.Tuple([ast.Name(local, ast.Store()), loop.target], ast.Store())
            source = expression("zip([b, *s], s)", b=begin, s=loop.iter)
            return element, ast.comprehension(pair, source, [], 0)
        free = names(after) & {local, *targets(loop.target)}
        match loop.iter:
            case ast.Call(func=ast.Name(id="range"), args=[_]) if not free and item:
                title = "i" if item == "_" else item
                loop = ast.comprehension(ast.Name(title, ast.Store()), loop.iter, [], 0)
                test = expression(f"{title} == 0")
                chosen = ast.IfExp(test, begin, after)
                return replaced(element, {local: chosen}), loop
        raise _Unfollowed

    def _top(self, node: ast.For) -> int:
        """The place of the statement of the constructor that a loop is, or is in."""
        return next(
            at
            for at, part in enumerate(self.body)
            if any(inner is node for inner in walk(part))
        )

    def _keyless(self, loop: ast.comprehension) -> None:
        """Let a loop over keys go over their number, and leave keys beside something else out."""
        match loop:
            case ast.comprehension(
                target=ast.Tuple(elts=places),
                iter=ast.Call(func=ast.Name(id="zip"), args=[*sources]),
            ) if len(places) == len(sources):
                pairs = zip(places, sources, strict=True)
                kept = [(t, s) for t, s in pairs if self._count(s) is None]
                if kept and len(kept) < len(places):
                    loop.target, loop.iter = kept[0]
                    if len(kept) > 1:
                        bound, given = zip(*kept, strict=True)
                        loop.target = ast.Tuple(list(bound), ast.Store())
                        loop.iter = ast.Call(
                            ast.Name("zip", ast.Load()), list(given), []
                        )
                    return
        count = self._count(loop.iter)
        if count is not None:
            loop.target = ast.Name("_", ast.Store())
            loop.iter = expression("range(n)", n=count)

    def _count(self, node: ast.expr) -> ast.expr | None:
        """How many keys a list of them, or a part of one, holds; None for anything else."""
        inner = node.value if isinstance(node, ast.Subscript) else node
        count = self.made.splits.get(getattr(inner, "id", ""))
        if count is None or inner is node:
            return count
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
            return None
        low, high = (
            0 if b is None else literal(b) for b in (node.slice.lower, node.slice.upper)
        )
        if not isinstance(low, int) or not isinstance(high, int) or low < 0:
            return None
        if high > 0:
            return ast.Constant(high - low)
        return folded(expression("n - m", n=count, m=ast.Constant(low - high)))
