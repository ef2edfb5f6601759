"""Whether a layer can be made at all of its defaults, whatever its required hyperparameters are."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mlax_scaffold.testing.picks import Make, Pick, Unfit
from mlax_scaffold.testing.strategies import Domain

T = TypeVar("T")
C = TypeVar("C")
_SEEDS = 60
"""So many values of what has no default are tried."""
_WHOLE = (8, 16, 12)
"""Sizes that 2 and 4 heads divide, with an even number for each, as rotations have it."""
_NUMBERS = re.compile(r"\bgot .*\d")
"""What a refusal says of the values that it is about."""


def refused_by_default(
    make: Make[Any], fields: Collection[str], defaults: Mapping[str, Any]
) -> BaseException | None:
    """What refuses the defaults in the same words, numbers included, whatever else is given.

    None where some case is taken, or where what has no default may be at fault.

    Args:
        make: makes a case.
        fields: the hyperparameters.
        defaults: the values of those that have one.
    """
    required = [name for name in fields if name not in defaults]
    known: dict[str, set[Any]] = {}
    refused: dict[str, dict[str, set[Any]]] = {}
    errors: dict[str, BaseException] = {}
    for seed in range(_SEEDS):
        pick = Defaults(seed, defaults)
        try:
            make(pick)
        except Unfit as unfit:
            error = unfit.__cause__ or unfit
        else:
            return None
        seen = refused.setdefault(str(error), {})
        errors[str(error)] = error
        for name in required:
            for values in (known, seen):
                values.setdefault(name, set()).add(repr(pick.picked.get(name)))
    for message, seen in refused.items():
        varied = [n for n in required if len(known[n]) > 1]
        if _NUMBERS.search(message) and all(len(seen[n]) > 1 for n in varied):
            return errors[message]
    return None


def taken_by_default(
    make: Make[C],
    defaults: Mapping[str, Any],
    keeps: Callable[[C], bool] = lambda case: True,
) -> C | None:
    """A case of the defaults that is taken, of short axes where one of those is; None where none is found.

    One that has no axis of size 1 is better, which may be taken for no more than that jax stretches it.
    `keeps` tells whether one keeps what is said of results: a reshape takes sizes of other arrays, too.
    """
    for larger in (False, True):
        found: list[tuple[tuple[int, int], C]] = []
        for seed in range(_SEEDS):
            pick = Defaults(seed, defaults, larger)
            with contextlib.suppress(Unfit):
                made = make(pick)
                sizes = [v for v in pick.picked.values() if type(v) is int]
                found.append(((sizes.count(1), sum(sizes)), made))
        ordered = sorted(found, key=lambda case: case[0])
        if (kept := next((m for _, m in ordered if keeps(m)), None)) is not None:
            return kept
    return None


def refusals_by_default(make: Make[Any], defaults: Mapping[str, Any]) -> list[str]:
    """What cases of the defaults are refused with, each text once."""
    found: dict[str, None] = {}
    for seed in range(_SEEDS):
        try:
            make(Defaults(seed, defaults))
        except Unfit as unfit:
            found[str(unfit.__cause__ or unfit)] = None
    return [*found]


def holding(make: Make[C], defaults: Mapping[str, Any]) -> Make[C]:
    """Makes the cases that have these values, of which nothing is picked."""
    return (lambda pick: make(_Held(pick, defaults))) if defaults else make


@dataclass(frozen=True)
class _Held:
    """Picks what another one does, but for what has a value already."""

    pick: Pick
    defaults: Mapping[str, Any]

    def __call__(self, name: str, domain: Domain[T]) -> T:
        return self.defaults[name] if name in self.defaults else self.pick(name, domain)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pick, name)


@dataclass
class Defaults:
    """Picks defaults, and all else by a seed."""

    seed: int
    defaults: Mapping[str, Any]
    larger: bool = True
    """Whether axes may be longer than those of most cases."""
    picked: dict[str, Any] = field(default_factory=dict)

    def __call__(self, name: str, domain: Domain[T]) -> T:
        if name in self.defaults:
            return self.defaults[name]
        further: list[Any] = []
        if self.larger:
            further += itertools.chain(*domain.beyond)
            if all(type(value) is int for value in domain.values):
                further += _WHOLE
        values = (*domain.values, *further)
        chosen = random.Random(f"{self.seed}/{name}").choice(values)
        self.picked[name] = chosen
        return chosen
