"""Carries an edit of a generated function over to a method, statement by statement.

A statement of one is found in the other by what it says, in the order of both, and within the blocks that
belong together; a generated statement that has no counterpart is the generator's own. Whether the result is
right is for the caller to see, by generating from it.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache

from mlax_scaffold.project.transfer import Untraceable, tokens_of, transfer

_ALIKE = 0.5
"""From this likeness on, two statements are each other's counterparts."""

_BLOCKS = ("body", "handlers", "orelse", "finalbody")


@dataclass(frozen=True)
class _Statement:
    """A statement with the comments above it, and the blocks in it."""

    kind: type[ast.AST]
    lines: tuple[int, int]
    head: int
    """The last line before its first block; its last one where it has none."""
    text: str
    """Its lines, without indentation."""
    blocks: tuple[tuple[_Statement, ...], ...]

    @property
    def header(self) -> str:
        """What stands before its blocks."""
        lines = self.text.splitlines(keepends=True)
        return "".join(lines[: self.head - self.lines[0] + 1])


@dataclass(frozen=True)
class _Function:
    """A function, and its statements but for the functions in it."""

    name: str
    statement: _Statement

    @property
    def body(self) -> tuple[_Statement, ...]:
        """What it does."""
        [body] = self.statement.blocks
        return tuple(s for s in body if s.kind is not ast.FunctionDef)


@dataclass(frozen=True)
class _Change:
    """Lines of the other text that others come in the place of; none where `last` is before `first`."""

    first: int
    last: int
    lines: tuple[str, ...]


def transfer_statements(
    before: str,
    after: str,
    other: str,
    lines: tuple[int, int],
    told: Callable[[str], str],
) -> str:
    """The other text with the edit that makes `after` of `before`.

    Args:
        before: the generated function, in the words of the other text.
        after: that function as it was edited, in those words.
        other: the text that it follows from.
        lines: the lines of the method of `other` that the function follows from.
        told: what a part of an edit is called in `other`.

    Raises:
        Untraceable: an edited statement has no counterpart there.
    """
    there = _functions(other, lines)
    method = next((f for f in there if f.statement.lines == lines), None)
    if method is None:
        raise Untraceable(after)
    carrying = _Carrying(other, told)
    for one, two in _pairs(_functions(before), _functions(after)):
        place = next((f for f in there if f.name == one.name), method)
        carrying.block(one.body, two.body, place.body)
    return carrying.text()


class _Carrying:
    """The changes of a text, one for each edit of another."""

    def __init__(self, other: str, told: Callable[[str], str]):
        self.other = other
        self.lines = other.splitlines(keepends=True)
        self.told = told
        self.changes: list[_Change] = []

    def text(self) -> str:
        """The text with the changes."""
        lines = list(self.lines)
        end = len(lines) + 1
        ordered = sorted(dict.fromkeys(self.changes), key=lambda c: (c.first, c.last))
        for change in reversed(ordered):
            if change.last >= end:
                raise Untraceable("".join(change.lines))
            lines[change.first - 1 : change.last] = change.lines
            end = change.first
        return "".join(lines)

    def block(
        self,
        before: Sequence[_Statement],
        after: Sequence[_Statement],
        there: Sequence[_Statement],
    ) -> None:
        """Carry over what differs between two blocks to the one that they follow from."""
        places = _counterparts(before, there)
        for first, last, start, end in _edits(before, after):
            one, two = before[first:last], after[start:end]
            if len(one) == len(two) == 1 and first in places:
                self.statement(one[0], two[0], there[places[first]])
            elif one:
                self.replaced(
                    one, two, [places.get(n) for n in range(first, last)], there
                )
            else:
                self.inserted(two, first, places, there)

    def statement(self, one: _Statement, two: _Statement, there: _Statement) -> None:
        """Carry over what differs between two statements."""
        if (
            not one.blocks
            or len({(s.kind, len(s.blocks)) for s in (one, two, there)}) > 1
        ):
            self.changes.append(self.whole(one, two, there))
            return
        if one.header != two.header:
            body = "    pass\n"
            text = self.within(one.header + body, two.header + body, there.lines)
            self.changes.append(self.changed(text, there.lines[0], there.head))
        for blocks in zip(one.blocks, two.blocks, there.blocks, strict=True):
            self.block(*blocks)

    def whole(self, one: _Statement, two: _Statement, there: _Statement) -> _Change:
        """An edit within a statement; all of it anew where the edited part is not found there."""
        try:
            text = self.within(one.text, two.text, there.lines)
        except Untraceable:
            return _Change(*there.lines, self.written(two.text, there.lines[0]))
        return self.changed(text, *there.lines)

    def within(self, one: str, two: str, lines: tuple[int, int]) -> str:
        """The text with an edit in some lines of it."""
        return transfer(one, two, self.other, lines, self.told)

    def changed(self, text: str, first: int, last: int) -> _Change:
        """What stands in a text in the place of some lines."""
        lines = text.splitlines(keepends=True)
        end = len(lines) - (len(self.lines) - last)
        return _Change(first, last, tuple(lines[first - 1 : end]))

    def replaced(
        self,
        one: Sequence[_Statement],
        two: Sequence[_Statement],
        places: Sequence[int | None],
        there: Sequence[_Statement],
    ) -> None:
        """Carry over statements that others stand in the place of, or none."""
        found = [place for place in places if place is not None]
        if len(found) < len(one) or found != list(range(found[0], found[-1] + 1)):
            raise Untraceable("".join(s.text for s in two or one))
        first, last = there[found[0]].lines[0], there[found[-1]].lines[1]
        text = "".join(statement.text for statement in two)
        self.changes.append(_Change(first, last, self.written(text, first)))

    def inserted(
        self,
        two: Sequence[_Statement],
        number: int,
        places: dict[int, int],
        there: Sequence[_Statement],
    ) -> None:
        """Carry over statements that were added before one that is there, or after the last."""
        after = min((n for n in places if n >= number), default=None)
        above = max((n for n in places if n < number), default=None)
        if after is None and above is None:
            raise Untraceable("".join(s.text for s in two))
        text = "".join(statement.text for statement in two)
        nearer = above is None or (
            after is not None and after - number < number - above
        )
        if after is not None and nearer:
            first = there[places[after]].lines[0]
            self.changes.append(_Change(first, first - 1, self.written(text, first)))
        elif above is not None:
            first, last = there[places[above]].lines
            self.changes.append(_Change(last + 1, last, self.written(text, first)))

    def written(self, text: str, line: int) -> tuple[str, ...]:
        """Lines of a text at the indentation of a line."""
        here: str = self.lines[line - 1]
        margin = here[: len(here) - len(here.lstrip())]
        return tuple(textwrap.indent(self.told(text), margin).splitlines(keepends=True))


def _pairs(
    old: Sequence[_Function], new: Sequence[_Function]
) -> Iterator[tuple[_Function, _Function]]:
    """The functions of a text as they were and as they are."""
    if [f.name for f in old] != [f.name for f in new]:
        raise Untraceable("".join(f.statement.text for f in new))
    return zip(old, new, strict=True)


def _functions(text: str, within: tuple[int, int] | None = None) -> list[_Function]:
    """The functions of a text, those in others too; `within`: of these lines of it."""
    lines = text.splitlines(keepends=True)
    first, last = within or (1, len(lines))
    return [
        _Function(node.name, _statement(node, node.lineno, lines))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and first <= node.lineno <= last
    ]


def _statement(node: ast.stmt, first: int, lines: Sequence[str]) -> _Statement:
    last = node.end_lineno or first
    parts = [part for name in _BLOCKS if (part := getattr(node, name, None))]
    head = last
    blocks = []
    start = node.lineno
    for number, nodes in enumerate(parts):
        blocks.append(_block(nodes, start, lines))
        if number == 0:
            head = blocks[0][0].lines[0] - 1
        start = nodes[-1].end_lineno or start
    text = textwrap.dedent("".join(lines[first - 1 : last]))
    return _Statement(type(node), (first, last), head, text, tuple(blocks))


def _block(
    nodes: Sequence[ast.stmt], above: int, lines: Sequence[str]
) -> tuple[_Statement, ...]:
    """The statements of a block, each with the lines of comments above it."""
    found = []
    for node in nodes:
        first = node.lineno
        while first - 1 > above and lines[first - 2].lstrip().startswith("#"):
            first -= 1
        found.append(_statement(node, first, lines))
        above = found[-1].lines[1]
    return tuple(found)


def _edits(
    before: Sequence[_Statement], after: Sequence[_Statement]
) -> Iterator[tuple[int, int, int, int]]:
    """What was edited: statements of the first that stand for those of the second, one for one if alike."""
    matcher = SequenceMatcher(None, _texts(before), _texts(after), autojunk=False)
    for code, first, last, start, end in matcher.get_opcodes():
        if code == "equal":
            continue
        pairs = _counterparts(before[first:last], after[start:end])
        one, two = first, start
        for left, right in sorted(pairs.items()):
            if (one, two) != (first + left, start + right):
                yield one, first + left, two, start + right
            yield first + left, first + left + 1, start + right, start + right + 1
            one, two = first + left + 1, start + right + 1
        if (one, two) != (last, end):
            yield one, last, two, end


def _texts(statements: Sequence[_Statement]) -> list[str]:
    return [statement.text for statement in statements]


def _counterparts(
    one: Sequence[_Statement], two: Sequence[_Statement]
) -> dict[int, int]:
    """The places of the statements that say the same in both, in one order, so that they are most alike."""
    best: list[list[tuple[float, dict[int, int]]]] = [[(0.0, {})] * (len(two) + 1)]
    for left, statement in enumerate(one):
        row: list[tuple[float, dict[int, int]]] = [(0.0, {})]
        for right, other in enumerate(two):
            choices = [best[left][right + 1], row[right]]
            alike = _likeness(statement.text, other.text)
            if alike >= _ALIKE:
                score, pairs = best[left][right]
                choices.append((score + alike, {**pairs, left: right}))
            row.append(max(choices, key=lambda choice: choice[0]))
        best.append(row)
    return best[-1][-1][1]


@cache
def _likeness(one: str, two: str) -> float:
    """How much two statements say the same: 1 where they are the same, 0 where they share nothing."""
    if one == two:
        return 1.0
    left, right = ([token.text for token in tokens_of(text)] for text in (one, two))
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= _ALIKE else 0.0
