"""Containers of `setup` as trees of members: what may be at each place of a list or a dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

LIST, DICT = "list", "dict"
STRUCTURAL = (
    *(
        "dict",
        "enumerate",
        "isinstance",
        "len",
        "list",
        "range",
        "reversed",
        "sorted",
        "tuple",
        "zip",
    ),
)
"""Functions that only look at how a container is built: layers stand in it as their places."""


@dataclass(frozen=True)
class Step:
    """One step into a container: an item of a list, or of a dictionary."""

    container: str
    """`LIST` or `DICT`; empty where the text does not tell."""
    key: Any = None
    """The constant that is its index or its key; None: any."""

    def meets(self, other: Step) -> bool:
        """Whether both may be the same step."""
        if self.container and other.container and self.container != other.container:
            return False
        return self.key is None or other.key is None or self.key == other.key


@dataclass(frozen=True)
class Member:
    """What is at a place of a container, or at several that the text does not tell apart."""

    steps: tuple[Step, ...]
    what: Any
    """What is declared there; None: a value that is no declaration."""
    nested: tuple[Any, ...] = ()
    """What is declared in its arguments: the layers of a block."""

    def below(self, step: Step) -> Member:
        """The same, one container further out."""
        return Member((step, *self.steps), self.what, self.nested)


def meets(member: Member, steps: Sequence[Step]) -> bool:
    """Whether a member may be at a place."""
    return len(member.steps) == len(steps) and all(
        a.meets(b) for a, b in zip(member.steps, steps, strict=True)
    )


def under(members: Iterable[Member], steps: Sequence[Step]) -> list[Member]:
    """The members that may be at a place, or below it, as seen from there."""
    count = len(steps)
    return [
        Member(m.steps[count:], m.what, m.nested)
        for m in members
        if len(m.steps) >= count
        and all(a.meets(b) for a, b in zip(m.steps, steps, strict=False))
    ]


def container_of(members: Iterable[Member]) -> str:
    """Whether a place is a list or a dictionary; empty where it is none, or may be both."""
    kinds = {m.steps[0].container if m.steps else "" for m in members}
    return kinds.pop() if len(kinds) == 1 else ""
