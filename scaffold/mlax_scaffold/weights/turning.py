"""Layers with two numbers, which a checkpoint may have in the other order.

`blocks_0[1]` is `blocks.1.0` where each block is a list, whose first layers are a list here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from mlax_scaffold.weights.model import Slot
from mlax_scaffold.weights.naming import counted_words, numbers, ranks
from mlax_scaffold.weights.source import Node

T = TypeVar("T")
Pair = tuple[Slot, Node]


def turned(pairs: Sequence[tuple[Slot, T]], roles: bool) -> list[tuple[Slot, T]]:
    """Layers with the places of the other order of two numbers; none where there is no such."""
    counted = ranks([numbers(slot.path, roles) for slot, _ in pairs])
    places = {number: other for number, (_, other) in zip(counted, pairs, strict=True)}
    found = [places.get(number[::-1]) for number in counted]
    if None in found or any(len(number) != 2 for number in counted):
        return []
    slots = (slot for slot, _ in pairs)
    return [(s, t) for s, t in zip(slots, found, strict=True) if t is not None]


def is_turned(
    pairs: Sequence[Pair], other: Sequence[Pair], known: Sequence[Pair], roles: bool
) -> bool:
    """Whether the other order is the likelier one.

    Tells it what is beside layers, then the numbers themselves, and last the words before them.

    Args:
        pairs: layers with places in the same order of numbers.
        other: the same layers with places in the other one.
        known: layers of the model whose places are found.
        roles: whether `norm1` is the name of a role.
    """
    mine, theirs = _counted(pairs, roles)
    straight, across = _same(pairs, known, roles)
    one = _beside(pairs, known), straight, _alike(mine, theirs)
    return (_beside(other, known), across, _alike(mine[::-1], theirs)) > one


def _same(pairs: Sequence[Pair], known: Sequence[Pair], roles: bool) -> tuple[int, int]:
    """How many layers have the numbers of their places, and how many have them in the other order.

    What is known of other layers in lists of the same name counts, too.
    """
    owner = _stem(pairs[0][0])
    own = {numbers(slot.path, roles) for slot, _ in pairs}
    places = {numbers(node.path, roles) for _, node in pairs}
    straight = len(own & places)
    across = len({_across(number) for number in own} & places)
    for slot, node in known:
        number, place = numbers(slot.path, roles), numbers(node.path, roles)
        if _stem(slot) == owner and len(number) > 1 and number != _across(number):
            straight += number == place
            across += _across(number) == place
    return straight, across


def _across(number: tuple[int, ...]) -> tuple[int, ...]:
    return (*number[1::-1], *number[2:])


def _stem(slot: Slot) -> str:
    return re.sub(r"\d+", "#", slot.path[0]) if slot.path else ""


def _counted(pairs: Sequence[Pair], roles: bool) -> tuple[list[str], list[str]]:
    """The words before the numbers that tell layers apart, and before those of their places."""
    slots, nodes = zip(*pairs, strict=True)
    mine = counted_words([slot.path for slot in slots], roles)
    return mine, counted_words([node.path for node in nodes], roles)


def _alike(words: Sequence[str], others: Sequence[str]) -> int:
    """How many numbers count the same, as the words before them say: `ln_1s/0` is `layer_0_ln_1`."""
    return sum(a == b for a, b in zip(words, others, strict=False))


def _beside(pairs: Sequence[Pair], known: Sequence[Pair]) -> int:
    """How many layers are in their place beside what is in the same part of the model."""
    return sum(
        any(_within(s.path, slot.path) and _within(n.path, node.path) for s, n in known)
        for slot, node in pairs
    )


def _within(path: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether a path is in the part that another one is in."""
    return path[: len(other) - 1] == other[:-1]
