"""How a case is made: by a function that picks a value of each domain by its name.

So one function serves arrays of options (`covering`), Hypothesis (`drawn`), and the search for a
smaller case in which the same thing fails (`smallest`).
"""

from __future__ import annotations

import contextlib
import itertools
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import jax

from mlax_scaffold.testing.strategies import Domain

T = TypeVar("T")
C = TypeVar("C")

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

UNTRACED = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
"""Those of them that jax raises where code needs the value of what is traced: no other sizes mend it."""


class Pick(Protocol):
    """Picks a value of a domain, by a name that no other domain of the case has."""

    def __call__(self, name: str, domain: Domain[T], /) -> T: ...


Make = Callable[[Pick], C]
"""Makes a case; raises Unfit where the values do not fit."""


@dataclass(frozen=True)
class Given:
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


@dataclass(frozen=True)
class Remembering:
    """Picks as another one does, and remembers which values of a case are refused.

    A search for cases picks the same values again and again, where few fit each other.
    """

    pick: Pick
    refused: dict[tuple[str, ...], Unfit]
    """What each of them is refused with, of all the cases of one definition."""
    picked: list[str] = field(default_factory=list)

    def __call__(self, name: str, domain: Domain[T]) -> T:
        value = self.pick(name, domain)
        self.picked.append(f"{name}={value!r}")
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pick, name)

    def tried(self, check: Callable[[], None]) -> None:
        """Check what was picked, unless the same was refused before: raise what it was refused with."""
        values = tuple(self.picked)
        if values in self.refused:
            told = self.refused[values]
            raise Unfit(*told.args) from told.__cause__
        try:
            check()
        except Unfit as unfit:
            # Frames hold what was traced; of them no more than the lines is told.
            for error in (unfit, unfit.__cause__):
                traceback.clear_frames(error.__traceback__ if error else None)
            self.refused[values] = unfit
            raise


def assert_fits(pick: Pick, check: Callable[[], None]) -> None:
    """Raise Unfit where a check does of what was picked."""
    if isinstance(pick, Remembering):
        pick.tried(check)
    else:
        check()


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
            if fails(make(Given(without))):
                left = without
        except Unfit:
            continue
    return left


def simplest(make: Make[Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is picked beside these values in a case of them: the simplest value for each name."""
    pick = Given(values)
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
    return make(Given(values))
