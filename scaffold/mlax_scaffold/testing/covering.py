"""Cases in which every two levels of two domains come together.

Where the levels of a row do not fit each other, as few of them as that takes are the simplest instead.
Which ones is told by the requirement that is not met, and learned for all the rows.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from allpairspy import AllPairs

from mlax_scaffold.testing.picks import Given, Make, Refused, Unfit
from mlax_scaffold.testing.strategies import Domain

T = TypeVar("T")
C = TypeVar("C")

_Found = tuple[Any, Mapping[str, Any]]
"""A case, and what was picked."""
_PROBES = 24
"""So many random cases are made, and not traced, to learn which domains there are."""
_TRIES = 12
"""So often other values are picked of a row of which a level was not there, as that of a divisor of 3."""
_ON = -1
"""The level at which what may be left out is there, and what may be zero is not."""
_PARTS = (1.0, 0.75, 0.75, 0.5, 0.5, 0.25, 0.25)
"""How much of a row is tried, where its values do not fit each other: the rest is simplest."""


class _Turns:
    """Whose turn it is among the values of a level: each has one before any has two."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int]] = Counter()

    def next(self, name: str, level: int, values: Sequence[T]) -> T:
        """A value of the level of that number, of the domain of that name."""
        turn, place = divmod(self._counts[name, level], len(values))
        self._counts[name, level] += 1
        # In another order each time: two domains are not to go in step.
        order = random.Random(f"{name}/{level}/{turn}").sample(values, len(values))
        return order[place]


def _level_of_presence(levels: Sequence[Sequence[Any]]) -> int:
    """The second level, or else the first one, none of whose values stands for nothing."""
    found = [i for i, level in enumerate(levels) if all(map(bool, level))]
    return 1 if 1 in found else found[0] if found else len(levels) - 1


@dataclass
class _Covering:
    """Picks the levels of a row, in them the next value, and any level by the seed for other names."""

    row: Mapping[str, int]
    seed: int
    turns: _Turns
    probing: bool = False
    strict: bool = False
    """Whether a level of the row that is not there is none of the row."""
    larger: bool = False
    """Whether it picks of the larger values of a domain that has such."""
    held: Mapping[str, Any] = field(default_factory=dict)
    """Values that it picks where they are of the level."""
    picked: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    lacks: bool = False
    """Whether a level of the row was not there."""

    def __call__(self, name: str, domain: Domain[T]) -> T:
        # Seeded by the name, a level does not depend on what else is picked.
        chance = random.Random(f"{self.seed}/{name}")
        levels = (self.larger and domain.beyond) or domain.levels
        count = len(levels)
        level = self.row[name] if name in self.row else chance.randrange(count)
        if level == _ON:
            level = _level_of_presence(levels)
        self.lacks |= level >= count
        self.levels[name] = max(count, self.levels.get(name, 0))
        level %= count
        values = levels[level]
        held = [v for v in values if name in self.held and v == self.held[name]]
        self.picked[name] = held[0] if held else self.turns.next(name, level, values)
        return self.picked[name]


def covering(make: Make[C], seeds: int = 1) -> Iterator[tuple[C, Mapping[str, Any]]]:
    """Cases in which every two levels of two domains come together, with what was picked.

    The simplest ones are first. Where levels exclude each other others are picked in their place, and
    larger sizes of axes where no case has smaller ones.

    Args:
        make: makes a case.
        seeds: so many cases for each pair of levels.
    """
    some = False
    for larger in (False, True):
        for case in () if some else _covering(make, seeds, larger):
            some = True
            yield case


def again(
    make: Make[C], other: Make[Any], picked: Sequence[Mapping[str, Any]]
) -> Sequence[tuple[C, Mapping[str, Any]]]:
    """Cases of values that were picked for another, where all that may be picked is the same; else none.

    Of values that do not fit here one is the simplest, mostly the same one in all of them.
    """
    if _count_levels(make) != _count_levels(other):
        return ()
    found: dict[str, tuple[C, Mapping[str, Any]]] = {}
    blamed: list[str] = []
    for values in picked:
        for name in (None, *blamed, *(n for n in values if n not in blamed)):
            pick = Given({n: v for n, v in values.items() if n != name})
            with contextlib.suppress(Unfit):
                found[repr(pick.picked)] = make(pick), pick.picked
                blamed = [name] if name else blamed
                break
        else:
            return ()
    return [*found.values()]


def _covering(
    make: Make[C], seeds: int, larger: bool
) -> Iterator[tuple[C, Mapping[str, Any]]]:
    counts = _count_levels(make, larger)
    known: set[str] = set()
    search = _Search(make, larger)
    for row in sorted(
        _rows(counts), key=lambda row: (sum(map(bool, row.values())), *row.values())
    ):
        for seed in range(seeds):
            found = search.case(row, seed)
            if found is not None and repr(found[1]) not in known:
                known.add(repr(found[1]))
                yield found


def varying(
    make: Make[C], names: Collection[str]
) -> Iterator[tuple[C, Mapping[str, Any]]]:
    """Cases in which these have each of their levels together, and all else has the simplest value."""
    counts = _count_levels(make)
    own = [name for name in counts if name in names]
    search = _Search(make)
    for levels in itertools.product(*(range(counts[name]) for name in own)):
        row = dict.fromkeys(counts, 0) | dict(zip(own, levels, strict=True))
        found = search.case(row, 0)
        if found is not None:
            yield found


def few_fit(make: Make[Any]) -> bool:
    """Whether more than two of three random cases are refused."""
    turns = _Turns()
    refused = 0
    for seed in range(_PROBES):
        try:
            make(_Covering({}, seed, turns))
        except Unfit:
            refused += 1
        made = seed + 1 - refused
        if 3 * made >= _PROBES or 3 * refused > 2 * _PROBES:
            break  # The others do not change it.
    return 3 * refused > 2 * _PROBES


def _count_levels(make: Make[Any], larger: bool = False) -> dict[str, int]:
    """The number of levels of each domain. Which there are may depend on what was picked."""
    counts: dict[str, int] = {}
    turns = _Turns()
    for seed in range(_PROBES):
        pick = _Covering({}, seed, turns, probing=True, larger=larger)
        with contextlib.suppress(Unfit):
            make(pick)
        for name, count in pick.levels.items():
            counts[name] = max(count, counts.get(name, 0))
    return {name: count for name, count in counts.items() if count > 1}


def _rows(counts: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    names = list(counts)
    if len(names) < 2:
        for levels in itertools.product(*(range(counts[name]) for name in names)):
            yield dict(zip(names, levels, strict=True))
        return
    for levels in _pairwise(tuple(counts.values())):
        yield dict(zip(names, levels, strict=True))
    # What two of them do together may need a third.
    yield dict.fromkeys(names, _ON)


@functools.lru_cache(maxsize=16)
def _pairwise(counts: tuple[int, ...]) -> Sequence[Sequence[int]]:
    """Rows with every two levels of two domains. Entry points of one layer have the same domains."""
    return [*AllPairs([range(count) for count in counts])]


@dataclass
class _Search:
    """Looks for a case of a row, or of as much of it as fits each other."""

    make: Make[Any]
    larger: bool = False
    turns: _Turns = field(default_factory=_Turns)
    causes: dict[str, set[str]] = field(default_factory=dict)
    """By what a refusal says, the names whose simplest level ended it."""

    def case(self, row: Mapping[str, int], seed: int) -> _Found | None:
        """A case, and what was picked; None where none was found."""
        number = _number(row) + seed
        said, held = "", {}
        for attempt in range(_TRIES):
            pick = self._pick(row, number + attempt, strict=True)
            try:
                return self.make(pick), pick.picked
            except Unfit as unfit:
                said, held = _requirement(unfit), pick.picked
                # Other sizes of these levels may fit each other.
                if not (isinstance(unfit, Refused) or pick.lacks):
                    break
        found = self._with_less(row, number, held, said)
        return found or self._with_parts(row, number)

    def _with_less(
        self, row: Mapping[str, int], number: int, held: Mapping[str, Any], said: str
    ) -> _Found | None:
        """A case of a row in which the levels that do not fit are the simplest, one for each requirement."""
        levels = dict(row)
        while True:
            causes = self.causes.setdefault(said, set())
            names = [n for n in _shuffled(row, number) if levels[n]]
            names.sort(key=lambda n: (n not in causes, not _tells_of(said, n)))
            for name in names:
                kept = {n: value for n, value in held.items() if n != name}
                pick = self._pick(levels | {name: 0}, number, held=kept)
                found = self._tried(pick)
                if found != said:
                    break
            else:
                return None
            causes.add(name)
            if not isinstance(found, str):
                return found
            levels[name], held, said = 0, pick.picked, found

    def _with_parts(self, row: Mapping[str, int], number: int) -> _Found | None:
        """A case of some of the levels of a row, in which the others are the simplest."""
        for attempt, part in enumerate(_PARTS, number):
            given = _shuffled(row, attempt)[: round(part * len(row))]
            levels = {name: row[name] if name in given else 0 for name in row}
            found = self._tried(self._pick(levels, attempt))
            if not isinstance(found, str):
                return found
        return None

    def _tried(self, pick: _Covering) -> _Found | str:
        """A case of what is picked, or what it does not meet."""
        try:
            return self.make(pick), pick.picked
        except Unfit as unfit:
            return _requirement(unfit)

    def _pick(self, row: Mapping[str, int], seed: int, **options: Any) -> _Covering:
        return _Covering(row, seed, self.turns, larger=self.larger, **options)


def _requirement(unfit: Unfit) -> str:
    """What is not met, whatever was given."""
    told, _, _ = str(unfit.__cause__ or unfit).partition("; got")
    return re.sub(r"\d+", "", told)


def _tells_of(said: str, name: str) -> bool:
    """Whether a requirement is about something of that name: `size of values` where it says "value"."""
    words = (word.removesuffix("s") for word in re.findall(r"[a-z_]{3,}", name))
    return any(re.search(rf"(?<![a-z_]){word}", said) for word in words)


def _shuffled(names: Mapping[str, int], number: int) -> list[str]:
    return random.Random(number).sample(sorted(names), len(names))


def _number(row: Mapping[str, int]) -> int:
    """A number of the row that is the same in every process."""
    return random.Random(f"{sorted(row.items())}").randrange(2**32)
