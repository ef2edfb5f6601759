"""What sizes of axes have to be that the types of a layer leave open, and that its code does not.

`Float["batch d"]`, where the code multiplies by a matrix of `dim` rows, says that any `d` is taken. Sizes are
tried until one fits, for several values of the hyperparameters: what they have in common is what `d` is.
"""

from __future__ import annotations

import ast
import itertools
import random
import re
import time
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mlax_scaffold.model.arithmetic import Unknown, evaluate
from mlax_scaffold.testing.picks import Make, Unfit
from mlax_scaffold.testing.relations import FACTORS, Solved, counts, relations
from mlax_scaffold.testing.strategies import Domain

T = TypeVar("T")
SECONDS = 20.0
"""So long sizes are looked for, of processor time."""
_STARTS = (3, 4, 5)
"""What all open axes are at first, one start for each values of the hyperparameters."""
_COMMON = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40)
"""Sizes that are tried. None is 1, which broadcasts and so fits what it should not."""
_SEEDS = 40
"""So many values of hyperparameters are drawn, to find some that the layer takes."""
_MOST_TOGETHER = 4
"""Of so many axes of one size it is asked which of them go together."""
_MOST_APART = 6
"""Of so many axes of one size it is asked which of them go with which."""
_OF_SEVERAL = (19, 23)
"""The sizes of the first axes of each `*name`, where they are to be no others."""
_STUCK = 3
"""After so many of them for which no size comes further than another, none is found."""


@dataclass
class _Solving:
    """Picks the sizes of open axes as told, and hyperparameters by a seed."""

    seed: int
    size: Callable[[str, Mapping[str, Any]], int]
    """The size of an open axis, by its name and the hyperparameters."""
    open: dict[str, int] = field(default_factory=dict)
    """The axes that were asked for."""
    values: dict[str, Any] = field(default_factory=dict)

    def __call__(self, name: str, domain: Domain[T]) -> T:
        axis = re.fullmatch(r"size of (\w+)", name)
        if axis:
            self.open[axis[1]] = self.size(axis[1], self.values)
            return self.open[axis[1]]  # type: ignore[return-value]
        several = [v for v in domain.values if counts(v)]
        if several and not name.startswith(("size of", "number of")):
            chosen = random.Random(f"{self.seed}/{name}").choice(several)
        else:
            chosen = domain.values[0]
        self.values[name] = chosen
        return chosen


@dataclass(frozen=True)
class _Numbered:
    """Picks as another one does, but for the numbers of axes, and for the sizes of these."""

    pick: Any
    numbers: Mapping[str, int]

    def __call__(self, name: str, domain: Domain[T]) -> T:
        picked = self.pick(name, domain)
        if found := re.fullmatch(r"size of \w+\[(\d)\]", name):
            return _OF_SEVERAL[int(found[1]) % len(_OF_SEVERAL)]  # type: ignore[return-value]
        number = self.numbers.get(name.removeprefix("number of "))
        return number if number in domain.values else picked  # type: ignore[return-value]


def are_free(make: Make[Any], numbers: Mapping[str, int] | None = None) -> bool:
    """Whether the layer takes sizes of all open axes that have nothing in common.

    Args:
        make: makes a situation of the layer; raises Unfit where sizes do not fit.
        numbers: how many axes there are of each `*name`, where another number than the least is asked for.
    """

    def told(pick: Any) -> Any:
        return make(_Numbered(pick, numbers or {}))

    try:
        return _holds(told, {}, (), (), range(_SEEDS), apart=True)
    except Exception:
        return False


def solved(
    make: Make[Any],
    among: Callable[[BaseException], Any],
    seconds: float = SECONDS,
) -> dict[str, str]:
    """What each open axis is, as shapes say it; nothing where that is not found.

    Args:
        make: makes a situation of the layer; raises Unfit where sizes do not fit.
        among: how far a call came that raised the error: more is further.
        seconds: so long they are looked for, of processor time.
    """
    end = time.process_time() + seconds
    found: list[Solved] = []
    stuck = 0
    seeds = iter(range(_SEEDS))
    for seed in seeds:
        if len(found) == len(_STARTS) or time.process_time() > end:
            break
        search = _Search(make, among, seed, _STARTS[len(found)], end)
        if search.is_taken() and (solution := search.solution(_guesses(found))):
            found.append(solution)
        stuck += bool(search.axes) and not search.comes_further
        if stuck == _STUCK and not found:
            break
    if len(found) < 2:
        return {}
    later = list(itertools.islice(seeds, _SEEDS))
    # One that is bound for some values alone has a limit: no size is said of it.
    bound = frozenset.intersection(*(s.bound for s in found))
    for across, computed in itertools.product((False, True), repeat=2):
        texts = relations(found, bound, across=across, computed=computed)
        if texts and _holds(make, texts, found[0].axes, bound, later):
            # Numbers that may grow together are none.
            numbers = {a: f"{int(t) + 1}" for a, t in texts.items() if t.isdigit()}
            moved = {**texts, **numbers}
            if len(numbers) < 2 or not _holds(make, moved, found[0].axes, bound, later):
                return texts
    return {}


def _holds(
    make: Make[Any],
    texts: Mapping[str, str],
    axes: Iterable[str],
    bound: Container[str],
    seeds: Sequence[int],
    apart: bool = False,
) -> bool:
    """Whether the layer takes what follows for other hyperparameters, and other sizes of what is open.

    `apart` says that axes which are not known have sizes of their own, too.
    """
    others = [axis for axis in axes if axis not in texts]
    # What is not bound may have a limit.
    free = {a: 3 + i if a in bound else 2 for i, a in enumerate(others)}

    def size(axis: str, values: Mapping[str, Any]) -> int:
        if axis not in texts:
            if apart:
                return free.setdefault(axis, _unlike(free.values()))
            return free.get(axis, 3)
        return _evaluated(texts[axis], {**values, **free})

    taken = 0
    for seed in seeds:
        pick = _Solving(seed, size)
        try:
            make(pick)
        except (Unfit, Unknown):
            if pick.open:
                return False
        else:
            taken += 1
        if taken == 2:
            break
    return taken > 0


def _evaluated(text: str, values: Mapping[str, Any]) -> int:
    return evaluate(ast.parse(text, mode="eval").body, values)


def _guesses(found: Sequence[Solved]) -> Iterator[Mapping[str, str]]:
    """What axes are as far as the solutions before tell, the plainest first."""
    bound = frozenset[str].intersection(*(s.bound for s in found)) if found else ()
    for across, computed in itertools.product((False, True), repeat=2) if found else ():
        # What one size is once is no guess: it would be found again, and taken for the only one.
        yield relations(found, bound, across=across, computed=computed, fixed=False)


class _Search:
    """Sizes that fit for one draw of the hyperparameters."""

    def __init__(
        self,
        make: Make[Any],
        among: Callable[[BaseException], Any],
        seed: int,
        start: int,
        end: float,
    ) -> None:
        self.make, self.among = make, among
        self.seed, self.start, self.end = seed, start, end
        self.axes: dict[str, int] = {}
        self.values: dict[str, Any] = {}
        self.comes_further = False
        """Whether some sizes came further than others, or to the end."""

    def is_taken(self) -> bool:
        """Whether the layer takes the hyperparameters, so that shapes were asked for."""
        self._reached({})
        return bool(self.axes)

    def _reached(self, axes: Mapping[str, int]) -> Any:
        """How far it comes; None: to the end."""
        pick = _Solving(self.seed, lambda axis, _: axes.get(axis, self.start))
        try:
            self.make(pick)
        except Unfit as unfit:
            return self.among(unfit.__cause__ or unfit)
        finally:
            self.axes = self.axes or pick.open
            self.values = pick.values
        return None

    def solution(self, guesses: Iterable[Mapping[str, str]]) -> Solved | None:
        """The sizes, and which of them are bound; None where none were found."""
        axes = self._guessed(guesses) or dict(self.axes)
        best = self._reached(axes)
        self.comes_further = best is None
        while best is not None:
            step = self._step(axes, best)
            if step is None:
                return None
            axes, best = step
            self.comes_further = True
        bound = {a for a, n in axes.items() if not self._any_fits(axes, a, n)}
        axes = self._apart(axes, bound)
        together = self._together(axes, bound)
        return Solved(axes, frozenset(bound), together, self.values)

    def _apart(self, axes: dict[str, int], bound: Iterable[str]) -> dict[str, int]:
        """Other sizes of bound axes with those of their multiples, so that height is told from width.

        Of axes of one size, those get another one together that go with no others.
        """
        more = (
            self.start - 2
        )  # another one for each start: no size is another one and a number
        for axis, size in [(a, axes[a]) for a in axes if a in bound]:
            alike = [a for a in bound if a != axis and axes[a] == axes[axis]]
            larger = [a for a in bound if axes[a] in (size * k for k in FACTORS)]
            for other in larger if alike else ():
                factor = axes[other] // size
                moved = {**axes, axis: size + more, other: factor * (size + more)}
                if self._reached(moved) is None:
                    axes = moved
                    break
        for size in sorted({axes[axis] for axis in bound}):
            same = [a for a in axes if a in bound and axes[a] == size]
            for group in _groups(same[:_MOST_APART]):
                moved = {**axes, **dict.fromkeys(group, _unlike(axes.values()))}
                kept = all(axes[axis] == size for axis in group)
                if kept and self._reached(moved) is None:
                    axes = moved
        return axes

    def _guessed(self, guesses: Iterable[Mapping[str, str]]) -> dict[str, int] | None:
        """Sizes that fit as other ones did; None where none of them does."""
        for texts in guesses:
            axes = {a: n for a, n in self.axes.items() if a not in texts}
            try:
                known = {**self.values, **axes}
                sizes = {a: _evaluated(text, known) for a, text in texts.items()}
            except Unknown:
                continue
            if self._reached({**axes, **sizes}) is None:
                return {**axes, **sizes}
        return None

    def _any_fits(self, axes: Mapping[str, int], axis: str, size: int) -> bool:
        """Whether another size fits: a smaller one where there is a limit, the double of a multiple."""
        others = [n for n in (size + 1, size - 1, 2 * size) if n > 1]
        return any(self._reached({**axes, axis: n}) is None for n in others)

    def _together(
        self, axes: Mapping[str, int], bound: Iterable[str]
    ) -> frozenset[str]:
        """Axes of one size that have another one, too, if all of them have it."""
        found: set[str] = set()
        for size in {axes[axis] for axis in bound}:
            same = sorted(a for a in bound if axes[a] == size)[:_MOST_TOGETHER]
            groups = (
                group
                for count in range(len(same), 1, -1)
                for group in itertools.combinations(same, count)
            )
            moved = (g for g in groups if self._moves(axes, g, size))
            found.update(next(moved, ()))
        return frozenset(found)

    def _moves(self, axes: Mapping[str, int], group: Iterable[str], size: int) -> bool:
        others = (size + 1, 2 * size)
        moved = ({**axes, **dict.fromkeys(group, other)} for other in others)
        return any(self._reached(m) is None for m in moved)

    def _step(
        self, axes: Mapping[str, int], best: Any
    ) -> tuple[dict[str, int], Any] | None:
        """Sizes that come further."""
        for group, size in _trials(list(axes), self.start, self._sizes()):
            if time.process_time() > self.end:
                return None
            tried = {**axes, **dict.fromkeys(group, size)}
            reached = self._reached(tried)
            if reached is None or reached > best:
                return tried, reached
        return None

    def _sizes(self) -> list[int]:
        """Sizes that follow from hyperparameters, then others."""
        # Larger ones first: what an axis was for another start is no number by that.
        common = sorted(_COMMON, key=lambda size: size < self.start)
        return list(dict.fromkeys((*_sizes_of(self.values.values()), *common)))


def _unlike(sizes: Collection[int]) -> int:
    """A size that is no multiple of another one, and not next to it."""
    near = {k * size + i for size in sizes for k in (1, *FACTORS) for i in (-1, 0, 1)}
    return next(n for n in itertools.count(max(sizes, default=1) + 2) if n not in near)


def _groups(axes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Some of the axes that may go together, the fewest first, and not all of them."""
    for count in range(2, len(axes) - 1):
        yield from itertools.combinations(axes, count)


def _trials(
    axes: Sequence[str], start: int, sizes: Sequence[int]
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Axes that get one size together, and the size: the likeliest ones first."""
    single = [(axis,) for axis in axes]
    # Height and width stand beside each other, and are multiples of those of another level.
    beside = list(itertools.pairwise(axes))
    apart = [p for p in itertools.combinations(axes, 2) if p not in beside]
    multiples = [start * k for k in FACTORS]
    yield from itertools.product(single, sizes[:8])
    yield from itertools.product(beside, multiples)
    yield from itertools.product(single, sizes[8:])
    yield from itertools.product(beside, sizes[:8])
    yield from itertools.product(apart, multiples)


def _sizes_of(values: Iterable[Any]) -> Iterator[int]:
    """Sizes that follow from hyperparameters."""
    counted = [v for v in values if counts(v)]
    single = [v for v in counted if isinstance(v, int)]
    for value in counted:
        if isinstance(value, tuple):
            single += [len(value), value[0], value[-1]]
    yield from single
    for a in single:
        yield from (a * k for k in FACTORS)
        yield from (a * b for b in single)
        yield from (a + b for b in single)
