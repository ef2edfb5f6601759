"""Sizes of open axes are found by what the code takes, and said as shapes say them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlax_scaffold.testing.picks import Pick, Unfit
from mlax_scaffold.testing.solving import are_free, solved
from mlax_scaffold.testing.strategies import size_sequences, sizes

AXES = ("b", "d", "e", "h1", "h2", "h3", "w1", "w2", "w3")


def made(*conditions: Callable[[dict[str, Any]], bool], taken: Any = None) -> Any:
    """Makes a situation of a layer whose code holds some conditions, one after another."""

    def make(pick: Pick) -> object:
        fields: dict[str, Any] = {"dim": pick("dim", sizes())}
        fields["heads"] = pick("heads", sizes())
        fields["levels"] = pick("levels", size_sequences(min_size=2))
        if taken is not None and not taken(fields):
            raise Unfit
        axes = {a: pick(f"size of {a}", sizes(max=4)) for a in AXES}
        for place, condition in enumerate(conditions):
            if not condition({**fields, **axes}):
                raise Unfit from ValueError(place)
        return object()

    return make


def reached(error: BaseException) -> Any:
    return error.args


CASES: dict[str, tuple[tuple[Callable[[Any], bool], ...], dict[str, str]]] = {
    "nothing": ((), {}),
    "a hyperparameter": ((lambda s: s["d"] == s["dim"],), {"d": "dim"}),
    "a product": (
        (lambda s: s["d"] == s["dim"] * s["heads"], lambda s: s["e"] == s["dim"]),
        {"d": "dim*heads", "e": "dim"},
    ),
    "a multiple": ((lambda s: s["d"] == 4 * s["heads"],), {"d": "4*heads"}),
    "a number": ((lambda s: s["d"] == 12,), {"d": "12"}),
    "one more than another": ((lambda s: s["d"] == s["e"] + 1,), {"d": "e+1"}),
    "one less than another": ((lambda s: s["d"] == s["e"] - 1,), {"e": "d+1"}),
    "the first and the last": (
        (lambda s: s["d"] == s["levels"][0], lambda s: s["e"] == s["levels"][-1]),
        {"d": "levels[0]", "e": "levels[-1]"},
    ),
    "levels of a pyramid": (
        (
            lambda s: (s["h2"], s["w2"]) == (2 * s["h1"], 2 * s["w1"]),
            lambda s: (s["h3"], s["w3"]) == (2 * s["h2"], 2 * s["w2"]),
        ),
        {"h2": "2*h1", "w2": "2*w1", "h3": "4*h1", "w3": "4*w1"},
    ),
    # Neither is as long as the other, though all of one level are at first.
    "height and width of two levels": (
        (lambda s: s["h2"] == 2 * s["h1"], lambda s: s["w2"] == 2 * s["w1"]),
        {"h2": "2*h1", "w2": "2*w1"},
    ),
    "height and width called like nothing": (
        (lambda s: s["d"] == 2 * s["b"], lambda s: s["w1"] == 2 * s["e"]),
        {"d": "2*b", "w1": "2*e"},
    ),
    "two pairs of one size": (
        (lambda s: s["b"] == s["d"], lambda s: s["e"] == s["w1"]),
        {"d": "b", "w1": "e"},
    ),
    "a pair beside a hyperparameter": (
        (
            lambda s: s["b"] == s["d"],
            lambda s: s["e"] == s["dim"],
            lambda s: s["w1"] == s["dim"],
        ),
        {"d": "b", "e": "dim", "w1": "dim"},
    ),
    "a limit": (
        (lambda s: s["d"] <= s["dim"], lambda s: s["e"] == s["heads"]),
        {"e": "heads"},
    ),
    "a multiple of any number": ((lambda s: s["d"] % s["heads"] == 0,), {}),
    # At first all have one size, and `dim` may have that by chance.
    "others of one size": (
        (lambda s: s["b"] == s["d"] == s["e"],),
        {"d": "b", "e": "b"},
    ),
    "others of one size beside a hyperparameter": (
        (lambda s: s["d"] == s["dim"], lambda s: s["b"] == s["e"]),
        {"d": "dim", "e": "b"},
    ),
    "what no shape says": ((lambda s: s["d"] == s["dim"] ** 2 + 5,), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_open_axes_are(name: str):
    conditions, expected = CASES[name]
    assert solved(made(*conditions), reached) == expected


@pytest.mark.parametrize("name", CASES)
def test_axes_are_free_where_nothing_ties_them(name: str):
    conditions, _ = CASES[name]
    free = are_free(made(*conditions))
    assert free == (name == "nothing")


def test_hyperparameters_that_are_refused_are_left():
    take = made(
        lambda s: s["d"] == s["dim"] + s["heads"],
        taken=lambda fields: fields["dim"] > fields["heads"],
    )
    assert solved(take, reached) == {"d": "dim+heads"}


def number_of_trials(*conditions: Callable[[dict[str, Any]], bool]) -> int:
    """How often a situation is made until it is known what axes are, or that nothing is found."""
    tried = []
    make = made(*conditions)
    solved(lambda pick: make(pick) if tried.append(0) is None else None, reached)
    return len(tried)


def test_what_one_solution_says_is_tried_first_for_the_next():
    one = number_of_trials(lambda s: s["d"] == 4 * s["heads"])
    several = number_of_trials(
        lambda s: s["d"] == 4 * s["heads"],
        lambda s: s["e"] == 8 * s["heads"],
        lambda s: s["h1"] == s["dim"] * s["heads"],
    )
    assert several < 3 * one


def test_what_no_size_comes_further_with_is_left_soon():
    assert number_of_trials(lambda s: s["dim"] < 0) < 25 * len(AXES) ** 2
