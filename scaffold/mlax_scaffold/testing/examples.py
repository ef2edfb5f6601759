"""The cases that Hypothesis draws."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import hypothesis
from hypothesis import strategies as st

from mlax_scaffold.testing.covering import few_fit
from mlax_scaffold.testing.picks import Make, Unfit, whole_tracebacks
from mlax_scaffold.testing.room import with_room
from mlax_scaffold.testing.strategies import Domain

T = TypeVar("T")
C = TypeVar("C")


def drawn(
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
            few.append(few_fit(make))
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


def _reject() -> NoReturn:
    hypothesis.reject()
    raise AssertionError
