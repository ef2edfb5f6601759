"""Which cases a contract tries: every two levels of two domains together, and any that Hypothesis draws.

A case is made by a function that picks a value of each domain by its name. So one function serves
arrays of options (`covering`), Hypothesis (`examples`), and the search for a smaller case in which the
same thing fails (`smallest`).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, TypeVar

import hypothesis
import jax
from allpairspy import AllPairs
from hypothesis import strategies as st

from mlax_scaffold.testing.room import with_room
from mlax_scaffold.testing.strategies import Domain

T = TypeVar("T")
C = TypeVar("C")

_PROBES = 24
"""So many random cases are made, and not traced, to learn which domains there are."""
_TRIES = 8
"""So often other values are picked of a row of which a level was not there, as that of a divisor of 3."""
_ON = -1
"""The level at which what may be left out is there, and what may be zero is not."""
_PARTS = (1.0, 1.0, 0.75, 0.75, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25)
"""How much of a row is tried, where its values do not fit each other: the rest is simplest."""
SECONDS = 5.0
"""So long a smaller case is looked for."""


class Unfit(Exception):
    """The values that were picked do not fit each other, as the requirements of the spec say."""


class Refused(Unfit):
    """The same, as the generated code says it: whether the spec does is to be asked."""

    def __init__(self, hyperparameters: Mapping[str, Any], told: Exception) -> None:
        super().__init__(str(told))
        self.hyperparameters = hyperparameters


REFUSALS = (ValueError, TypeError, IndexError, ArithmeticError)
"""What Python and jax raise where sizes do not fit each other."""


class Pick(Protocol):
    """Picks a value of a domain, by a name that no other domain of the case has."""

    def __call__(self, name: str, domain: Domain[T], /) -> T: ...


Make = Callable[[Pick], C]
"""Makes a case; raises Unfit where the values do not fit."""


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
        self.picked[name] = self.turns.next(name, level, levels[level])
        return self.picked[name]


@dataclass(frozen=True)
class _Given:
    """Picks the given values, and the simplest one for other names."""

    values: Mapping[str, Any]
    picked: dict[str, Any] = field(default_factory=dict)

    def __call__(self, name: str, domain: Domain[T]) -> T:
        value = self.values.get(name, domain.values[0])
        known = itertools.chain(domain.values, *domain.beyond)
        if not any(value is v or value == v for v in known):
            value = domain.values[0]
        self.picked[name] = value
        return value


@contextlib.contextmanager
def whole_tracebacks() -> Iterator[None]:
    """Where jax filters no tracebacks, which takes longer than to trace.

    Errors are expected by the hundred, of values that do not fit each other.
    """
    config: Any = jax.config
    filtering = config.jax_traceback_filtering
    config.update("jax_traceback_filtering", "off")
    try:
        yield
    finally:
        config.update("jax_traceback_filtering", filtering)


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


def _covering(
    make: Make[C], seeds: int, larger: bool
) -> Iterator[tuple[C, Mapping[str, Any]]]:
    counts = _count_levels(make, larger)
    known: set[str] = set()
    turns = _Turns()
    for row in sorted(
        _rows(counts), key=lambda row: (sum(map(bool, row.values())), *row.values())
    ):
        for seed in range(seeds):
            found = _made(make, row, seed, turns, larger)
            if found is not None and repr(found[1]) not in known:
                known.add(repr(found[1]))
                yield found


def varying(
    make: Make[C], names: Collection[str]
) -> Iterator[tuple[C, Mapping[str, Any]]]:
    """Cases in which these have each of their levels together, and all else has the simplest value."""
    counts = _count_levels(make)
    own = [name for name in counts if name in names]
    turns = _Turns()
    for levels in itertools.product(*(range(counts[name]) for name in own)):
        row = dict.fromkeys(counts, 0) | dict(zip(own, levels, strict=True))
        found = _made(make, row, 0, turns)
        if found is not None:
            yield found


def examples(
    make: Make[C],
    cases: Callable[[], Sequence[tuple[C, Mapping[str, Any]]]] = tuple,
) -> st.SearchStrategy[tuple[C, Mapping[str, Any]]]:
    """The Hypothesis strategy of all cases, with what was picked.

    Where few values fit each other, those that do not are replaced by one of `cases`, before Hypothesis
    complains.
    """
    few: list[bool] = []
    failed: list[AssertionError] = []

    def known() -> Sequence[tuple[C, Mapping[str, Any]]]:
        if not few:
            few.append(_few_fit(make))
        if failed:  # the same each time: Hypothesis tries it again
            raise failed[0]
        try:
            return cases() if few[0] else ()
        except AssertionError as error:
            failed.append(error)
            raise

    @st.composite
    def draw_case(draw: st.DrawFn) -> tuple[C, Mapping[str, Any]]:
        picked: dict[str, Any] = {}

        def pick(name: str, domain: Domain[T]) -> T:
            picked[name] = draw(domain.strategy)
            return picked[name]

        with whole_tracebacks():
            try:
                return with_room(functools.partial(make, pick)), picked
            except Unfit:
                found = with_room(known)
        if not found:
            _reject()
        return found[draw(st.integers(0, len(found) - 1))]

    return draw_case()


def _few_fit(make: Make[Any]) -> bool:
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


def smallest(
    make: Make[C], picked: Mapping[str, Any], fails: Callable[[C], bool]
) -> Mapping[str, Any]:
    """What is left of `picked` when all that has nothing to do with it is the simplest value.

    Args:
        make: makes a case.
        picked: the values of a case that fails.
        fails: whether a case fails in the same way.
    """
    end = time.monotonic() + SECONDS
    left = dict(picked)
    for name in picked:
        without = {n: value for n, value in left.items() if n != name}
        if time.monotonic() > end:
            break
        try:
            if fails(make(_Given(without))):
                left = without
        except Unfit:
            continue
    return left


def simplest(make: Make[Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is picked beside these values in a case of them: the simplest value for each name."""
    pick = _Given(values)
    with contextlib.suppress(Unfit):
        make(pick)
    return {n: value for n, value in pick.picked.items() if n not in values}


def assert_wanted(pick: Pick) -> None:
    """Raise Unfit where a case is not to be looked at. It is called when all has been picked.

    So are cases that are made to learn which domains there are, and those of which the row asks for more.
    """
    probing, strict, lacks = (
        getattr(pick, name, False) for name in ("probing", "strict", "lacks")
    )
    if probing or (strict and lacks):
        raise Unfit


def with_values(make: Make[C], values: Mapping[str, Any]) -> C:
    """The case of these values, and of the simplest one for other names."""
    return make(_Given(values))


def _reject() -> NoReturn:
    hypothesis.reject()
    raise AssertionError


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


def _made(
    make: Make[C],
    row: Mapping[str, int],
    seed: int,
    turns: _Turns,
    larger: bool = False,
) -> tuple[C, Mapping[str, Any]] | None:
    """A case of a row, or of as much of it as fits each other."""
    number = _number(row) + seed
    chance = random.Random(number)
    for attempt in range(_TRIES):
        pick = _Covering(row, number + attempt, turns, strict=True, larger=larger)
        try:
            return make(pick), pick.picked
        except Refused:
            continue  # Other sizes of these levels may fit each other.
        except Unfit:
            if not pick.lacks:
                break
    order = chance.sample(sorted(row), len(row))
    for attempt, part in enumerate(_PARTS):
        given = set(order[: round(part * len(order))])
        levels = {name: level if name in given else 0 for name, level in row.items()}
        pick = _Covering(levels, number + attempt, turns, larger=larger)
        try:
            return make(pick), pick.picked
        except Unfit:
            order = chance.sample(order, len(order))
    return None


def _number(row: Mapping[str, int]) -> int:
    """A number of the row that is the same in every process."""
    return random.Random(f"{sorted(row.items())}").randrange(2**32)
