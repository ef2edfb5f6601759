"""What is known of the values of a body: arrays by their axes, numbers, and structures of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Prefix:
    """The first axes of arrays that have them in common."""

    axes: list[ast.expr] = field(default_factory=list)
    open: bool = True
    """Whether any number of others stands before them."""
    some: bool = False
    """Whether that is one at least."""
    least: int = 0
    """How many there are at least, as axes are named by number."""
    inside: bool = False
    """Whether one array has nothing but these axes, and another one has more."""
    bare: int = 0
    """How many axes an array has at least of which nothing else is known."""


class Array:
    """An array: its last axes, and whether any number of others stands before them."""

    def __init__(
        self,
        axes: list[ast.expr] | None = None,
        lead: bool = True,
        kind: str = "Float",
        prefix: Prefix | None = None,
    ):
        self.tail = list(axes or ())
        self.prefix = prefix or Prefix([], lead)
        self.kind = kind
        self.against: Array | None = None
        """What an array is broadcast to that nothing else is known of."""
        self.widened: tuple[Array, int] | None = None
        """What it is with one more axis, and which, where nothing else is known of that."""
        self.behind: list[Array] = []
        """Those that are broadcast to this one, of which nothing else is known."""
        self.parts: list[Array] = []
        """What it is joined of, where nothing else is known of it."""
        self.cut = False
        """Whether it is some of the one array that it is joined of."""
        self.along = 0
        """The axis along which those are joined."""
        self.cases: list[tuple[ast.expr, Array, Array]] = []
        """What it is where a condition on hyperparameters holds, and elsewhere, where those differ."""
        self.asked = 0
        """The axis from the first one whose size the code reads, the furthest of them."""
        self.source: Array | None = None
        """What it is a reshaped copy of."""
        self.turned: Array | None = None
        """What it is with its axes in another order."""
        self.asked_early = False
        """Whether the code reads such a size before it is told how many axes there are."""
        self.asked_for = 0
        """How many axes it has in a branch for so many, where it may have others."""
        self.first = 0
        """How many axes the code takes from the first one on, beside the last."""
        self.looked_up: Array | None = None
        """The indices whose rows of a table it is, where nothing else is known of them."""
        self.whole = ""
        """The hyperparameter that all axes but the first are in."""
        self.of_step = False
        """Whether it is an element of what a scan goes over."""
        self.flat: ast.expr | None = None
        """The size of all axes but the first, where they are made one."""

    @property
    def axes(self) -> list[ast.expr]:
        """The axes that are known, from the first one."""
        return [*self.prefix.axes, *self.tail]

    @property
    def lead(self) -> bool:
        """Whether any number of axes stands before those."""
        return self.prefix.open

    @property
    def usual(self) -> int:
        """How many axes there are at least, mostly, where the code names one by number."""
        return 2 if self.kind == "Int" or self.of_step else 3

    def with_axis(self, at: int) -> Array:
        """An array of which nothing is known, with one more axis."""
        made = Array([ast.Constant(1)] if at == -1 else [], True, self.kind)
        made.widened = self, at
        return made

    def of_integers(self) -> None:
        """It holds indices, and so does what it is a view of, or a sum of."""
        self.kind = "Int"
        numbers = [part for part in self.behind if part.kind == "Float"]
        for part in (*self._viewed(), *numbers):
            if part.kind != "Int":
                part.of_integers()

    def of_numbers(self) -> None:
        """It holds no truths, but numbers, and so does what it is a view of."""
        if self.kind == "Bool":
            self.kind = "Float"
        for part in self._viewed():
            part.of_numbers()

    def _viewed(self) -> list[Array]:
        """What it is a view of, or is put together of."""
        inner = self.widened[0] if self.widened is not None else self.source
        return [*self.parts, *([inner] if inner is not None else [])]

    def told_by(self, other: Array) -> None:
        """What is known of an array that has one more axis here, of what it is combined with."""
        if self.widened is None:
            return
        inner, at = self.widened
        if inner.lead and not inner.axes and (at == -1 or not other.lead):
            axes = list(other.axes)
            if -len(axes) <= at < len(axes):
                del axes[at]
                other.at_least_one()
                inner.broadcast_to(other.like(axes))

    def broadcast_to(self, other: Array) -> None:
        """Nothing is known of this array but that it is broadcast to another one."""
        seen: Array | None = other
        while seen is not None:
            if seen is self:
                # They are broadcast to each other.
                return
            seen = seen.against
        self.against = other
        other.behind.append(self)

    def at_least_one(self) -> None:
        """Some axis stands before those that are known."""
        self.prefix.some = True

    def has_axis(self, at: int) -> None:
        """The code names an axis, counted from the first one."""
        self.prefix.least = max(self.prefix.least, at + 1 - len(self.tail))

    def like(self, axes: list[ast.expr], kind: str = "") -> Array:
        """An array with other axes, which has the first ones in common where they are the same."""
        first = self.prefix.axes
        shared = len(axes) >= len(first) and all(
            a is b for a, b in zip(axes, first, strict=False)
        )
        if shared:
            tail = axes[len(first) :]
            self.prefix.inside |= bool(tail) != bool(self.tail)
            return Array(tail, kind=kind or self.kind, prefix=self.prefix)
        return Array(axes, self.lead, kind or self.kind)

    def exchanged(self, axes: list[ast.expr]) -> Array:
        """The array with its axes in another order."""
        made = self.like(axes)
        if made.prefix is not self.prefix:
            made.turned = self
        return made

    def with_second_last(self) -> Array:
        """The array with its second axis, such as classes, as the last."""
        axes = [*self.axes[:1], *self.axes[2:], *self.axes[1:2]]
        made = Array([] if self.lead else axes, self.lead, self.kind)
        made.turned = self
        return made

    def grow(self, axis: ast.expr) -> None:
        """One more axis is known, before the others."""
        own = not self.tail and not self.prefix.inside
        (self.tail if own else self.prefix.axes).insert(0, axis)


@dataclass
class Number:
    """A number of Python, as an expression of hyperparameters and symbols."""

    value: ast.expr


@dataclass
class Several:
    """A tuple or a list of values."""

    items: list[Value]
    alone: Value = None
    """The one array that some option returns in their place."""


@dataclass
class Record:
    """A dictionary of values."""

    items: dict[object, Value]


@dataclass
class Each:
    """A list of values of one structure."""

    first: Value
    alike: bool
    """Whether the others have the sizes of the first one."""
    along: int | None = None
    """The axis along which they are parts of one array, which stands for each of them."""

    @property
    def other(self) -> Value:
        """What is known of any of them."""
        return self.first if self.alike else _unsized(self.first)


@dataclass
class Filled:
    """A list that a loop fills."""

    loop: ast.For
    value: Value
    """What each pass appends."""
    before: list[Value] | None
    """What stands before it; None where that is not known."""
    after: list[Value] = field(default_factory=list)
    """What is appended later, one by one."""


@dataclass
class Shape:
    """The shape of an array."""

    array: Array
    start: int | None = None
    stop: int | None = None


@dataclass
class Module:
    """A layer that a local stands for."""

    attribute: str


@dataclass
class Loop:
    """An element of a list of layers."""

    attribute: str


Value = Array | Number | Several | Record | Each | Shape | Module | Loop | None


def _unsized(value: Value) -> Value:
    """The structure of a value, of whose arrays nothing is known."""
    if isinstance(value, Several):
        return Several([_unsized(v) for v in value.items])
    if isinstance(value, Record):
        return Record({k: _unsized(v) for k, v in value.items.items()})
    return None


def is_asked_early(values: Iterable[Value]) -> bool:
    """Whether sizes of inputs were read before it was known how many axes these have, none of them a mask."""
    arrays = [v for v in values if isinstance(v, Array)]
    return any(a.asked_early and not a.lead for a in arrays) and all(
        a.kind != "Bool" and a.against is None for a in arrays
    )


def under_one_name(value: Value) -> Value:
    """What a name stands for that is bound to a value: one array, where some option returns it alone."""
    if isinstance(value, Several) and value.alone is not None:
        return value.alone
    return value
