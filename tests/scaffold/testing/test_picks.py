"""Cases cover every two options, fit, and get as small as what fails in them."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings

from mlax_scaffold.testing import covering, picks
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.examples import drawn
from mlax_scaffold.testing.picks import Refused, Unfit
from mlax_scaffold.testing.strategies import (
    axis_sizes,
    booleans,
    choices,
    counts,
    decays,
    divisors,
    just,
    optional,
    probabilities,
    sizes,
)


def case(pick):
    return {
        "size": pick("size", sizes()),
        "flag": pick("flag", booleans()),
        "kind": pick("kind", choices("a", "b", "c")),
        "limit": pick("limit", optional(counts())),
    }


def options(values):
    return {
        ("size", values["size"] > 1),
        ("flag", values["flag"]),
        ("kind", values["kind"]),
        ("limit", bool(values["limit"]) if values["limit"] is not None else None),
    }


ALL = [
    *(("size", more) for more in (False, True)),
    *(("flag", on) for on in (False, True)),
    *(("kind", kind) for kind in "abc"),
    *(("limit", limit) for limit in (None, False, True)),
]


def test_every_two_options_come_together():
    cases = [values for values, _ in covering.covering(case)]
    seen = {
        pair
        for values in cases
        for pair in itertools.combinations(sorted(options(values), key=str), 2)
    }
    wanted = {
        pair
        for pair in itertools.combinations(sorted(ALL, key=str), 2)
        if pair[0][0] != pair[1][0]
    }
    assert wanted <= seen
    assert len(cases) < 15


def test_all_that_may_be_there_is_there_together():
    def present(pick):
        parts = {name: pick(name, booleans()) for name in "abcdefg"}
        others = {
            "rate": pick("rate", probabilities()),
            "decay": pick("decay", decays()),
            "limit": pick("limit", optional(counts(1))),
        }
        return parts | others

    cases = [values for values, _ in covering.covering(present)]
    assert any(all(values.values()) for values in cases)


def test_cases_are_the_same_every_time():
    one = list(covering.covering(case))
    assert one == list(covering.covering(case))
    assert len(list(covering.covering(case, seeds=3))) > len(one)


def test_some_vary_and_all_else_is_simplest():
    cases = [values for values, _ in covering.varying(case, ["flag", "kind"])]
    assert {(v["flag"], v["kind"]) for v in cases} == {
        (flag, kind) for flag in (False, True) for kind in "abc"
    }
    simplest = picks.with_values(case, {})
    assert all(v[name] == simplest[name] for v in cases for name in ("size", "limit"))


def test_values_that_do_not_fit_are_picked_again():
    def fitting(pick):
        values = case(pick)
        if values["flag"] and values["kind"] == "b":
            raise Unfit
        return values

    cases = [values for values, _ in covering.covering(fitting)]
    assert {values["kind"] for values in cases} == set("abc")
    assert {values["flag"] for values in cases} == {True, False}


def flagged(pick, *excluded: tuple[int, int]):
    """Flags, two of which at a time exclude each other."""
    names = [letter * 3 for letter in "abcdefgh"]
    flags = [pick(name, booleans()) for name in names]
    for one, two in excluded:
        if flags[one] and flags[two]:
            raise Unfit(f"{names[one]} takes no {names[two]}")
    return flags


def pairs_of(cases):
    return {
        pair for flags in cases for pair in itertools.combinations(enumerate(flags), 2)
    }


def test_where_levels_exclude_each_other_all_else_stays_in_the_row():
    excluded = (2, 5), (1, 6), (0, 7), (3, 4)

    def fitting(pick):
        return flagged(pick, *excluded)

    seen = pairs_of(flags for flags, _ in covering.covering(fitting))
    every = itertools.product(
        itertools.combinations(range(8), 2), (False, True), (False, True)
    )
    wanted = {
        ((i, one), (j, two))
        for (i, j), one, two in every
        if not (one and two and (i, j) in excluded)
    }
    assert len(wanted - seen) <= 12


def test_a_requirement_is_looked_up_once_for_all_rows():
    tried = []

    def fitting(pick):
        tried.append(pick)
        return flagged(pick, (2, 5), (1, 6), (0, 7), (3, 4))

    found = len([*covering.covering(fitting)])
    assert len(tried) < 24 + 4 * found


def test_an_entry_point_has_the_cases_of_its_layer():
    known = [picked for _, picked in covering.covering(case)]
    assert [picked for _, picked in covering.again(case, case, known)] == known

    def other(pick):
        return case(pick) | {"more": pick("more", booleans())}

    assert not covering.again(other, case, known)


def test_what_an_entry_point_does_not_take_is_the_simplest():
    def fitting(pick):
        return flagged(pick)

    def narrower(pick):
        flags = flagged(pick)
        if flags[3]:
            raise Unfit("flag 3 is not taken")
        return flags

    known = [picked for _, picked in covering.covering(fitting)]
    found = [flags for flags, _ in covering.again(narrower, fitting, known)]
    wanted = {
        pair
        for pair in pairs_of(flags for flags, _ in covering.covering(fitting))
        if (3, True) not in pair
    }
    assert pairs_of(found) == wanted

    def nothing(pick):
        flagged(pick)
        raise Unfit("nothing is taken")

    assert not covering.again(nothing, fitting, known)


def test_sizes_that_are_refused_are_picked_again():
    def divided(pick):
        several = just(2, 3, 4, 5, 7, 9, 11, 13)
        flags = [pick(f"flag {i}", booleans()) for i in range(5)]
        size, parts = (pick(name, just(1) | several) for name in ("size", "parts"))
        if size % parts:
            raise Refused({}, ValueError("parts must divide size"))
        return parts > 1, *flags

    cases = [values for values, _ in covering.covering(divided)]
    assert {(many, flag) for many, *flags in cases for flag in enumerate(flags)} == {
        (many, (i, on))
        for many in (False, True)
        for i in range(5)
        for on in (False, True)
    }


def test_what_a_case_has_may_depend_on_what_was_picked():
    def nested(pick):
        number = pick("number", choices(0, 1, 2))
        return [pick(f"axis {i}", sizes()) for i in range(number)]

    cases = [values for values, _ in covering.covering(nested)]
    assert {len(values) for values in cases} == {0, 1, 2}
    assert any(values[1:] == [1] for values in cases)


def test_each_value_has_its_turn():
    def valued(pick):
        return {
            "size": pick("size", sizes()),
            "kind": pick("kind", choices(*"abcde")),
            "amount": pick("amount", just(*range(6))),
        }

    cases = [values for values, _ in covering.covering(valued)]
    assert {values["size"] for values in cases} == {1, 2, 3, 4, 7}
    assert {values["amount"] for values in cases} == set(range(6))


def test_levels_that_other_values_seldom_leave_are_reached():
    def divided(pick):
        features = [pick(f"features {i}", just(*range(1, 8))) for i in range(2)]
        groups = pick("groups", divisors(*features))
        flag = pick("flag", booleans())
        picks.assert_wanted(pick)
        return {"groups": groups, "flag": flag}

    cases = [values for values, _ in covering.covering(divided)]
    assert {(values["groups"] > 1, values["flag"]) for values in cases} == {
        *((more, flag) for more in (False, True) for flag in (False, True))
    }


def test_larger_axes_are_picked_where_no_smaller_ones_are_taken():
    def long(least):
        def make(pick):
            size, flag = pick("size of x", axis_sizes(4)), pick("flag", booleans())
            if size < least:
                raise Unfit
            return size, flag

        return make

    assert {n for (n, _), _ in covering.covering(long(2))} <= {2, 3, 4}
    cases = [*covering.covering(long(6))]
    assert {flag for (_, flag), _ in cases} == {True, False}
    assert {n for (n, _), _ in cases} <= {8, 16, 24, 32}
    size, _ = picks.with_values(long(6), {"size of x": 16})
    assert size == 16


def test_axes_are_as_long_as_what_they_are_reshaped_to():
    def make(pick):
        modes = (3, 7) if pick("many", booleans()) else (3, 4)
        shape = shapes_of(pick, {"x": "features"}, {"modes": modes, "rank": 5})["x"]
        if shape != (math.prod(modes),):
            raise Unfit
        return shape

    assert {shape for shape, _ in covering.covering(make)} == {(12,), (21,)}


@pytest.mark.parametrize(
    ("pattern", "shape", "sizes"),
    [
        ("#n #n", (3, 2, 4, 4), {}),  # ... #n #n
        ("n c", (3, 2, 4, 5), {"n": 4, "c": 5}),
        ("n any_axis", (4, 3, 2), {"n": 4, "any_axis": 2}),  # n ...
    ],
)
def test_an_example_may_have_axes_that_its_type_leaves_open(pattern, shape, sizes):
    def made(loose):
        return shapes_of(
            lambda name, domain: domain.values[0],
            {"x": pattern},
            {},
            given={"x": shape},
            loose=loose,
        )

    found = made(("x",))
    assert found["x"] == shape
    assert {n: found.sizes[n] for n in sizes} == sizes
    with pytest.raises(Unfit):
        made(())


def test_one_domain_and_none():
    cases = covering.covering(lambda pick: pick("kind", choices("a", "b")))
    assert len(list(cases)) == 2
    assert list(covering.covering(lambda pick: 1)) == [(1, {})]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(drawn(case))
def test_hypothesis_draws_cases(drawn):
    values, picked = drawn
    assert values == dict(picked)


def test_the_smallest_case_has_what_fails():
    def fails(values):
        return values["kind"] == "c" and values["size"] > 1

    picked = {"size": 4, "flag": True, "kind": "c", "limit": 2}
    left = picks.smallest(case, picked, fails)
    assert left == {"size": 4, "kind": "c"}
    assert picks.with_values(case, left) == {
        "size": 4,
        "flag": False,
        "kind": "c",
        "limit": None,
    }


def test_it_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(picks, "SECONDS", 0.0)
    picked = {"size": 4, "flag": True, "kind": "c", "limit": 2}
    assert picks.smallest(case, picked, lambda values: True) == picked


def test_where_few_values_fit_others_are_taken_in_their_place():
    def make(pick):
        values = [pick(f"size {i}", sizes()) for i in range(4)]
        if len(set(values)) > 1:
            raise picks.Unfit
        return values[0]

    seen = set()

    @settings(max_examples=50, database=None)
    @given(drawn(make, lambda: [(5, {"size 0": 5})]))
    def check(case):
        seen.add(case[0])

    check()
    assert 5 in seen
