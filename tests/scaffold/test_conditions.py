"""Conditions of branches against all values of what they test."""

import ast
import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mlax_scaffold.model.conditions import (
    Tests,
    Way,
    are_apart,
    chosen,
    contrary,
    either,
    there,
)

ALL = [
    dict(zip("abk", values, strict=True))
    for values in itertools.product((True, False), (True, False), (1, 2, None))
]


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def value(test: ast.expr, known: dict[str, Any]) -> Any:
    return eval(ast.unparse(test), {}, known)  # of the texts below


def hold(tests: Tests, known: dict[str, Any]) -> bool:
    return all(value(test, known) for test in tests)


TESTS = [
    *map(parsed, ("a", "b", "k == 1", "k is None", "k in (1, 3)")),
    *map(contrary, map(parsed, ("a", "b", "k == 1", "k is None", "k in (1, 3)"))),
]
CONDITIONS = st.lists(st.sampled_from(TESTS), max_size=3).map(tuple)


@given(CONDITIONS)
def test_a_contrary_holds_where_the_test_does_not(tests: Tests):
    for test, known in itertools.product(tests, ALL):
        assert value(contrary(test), known) == (not value(test, known))
        assert ast.dump(contrary(contrary(test))) == ast.dump(test)


@given(CONDITIONS, CONDITIONS)
def test_what_is_apart_never_holds_at_once(one: Tests, other: Tests):
    if are_apart(one, other):
        assert not any(hold(one, known) and hold(other, known) for known in ALL)


@given(st.lists(CONDITIONS, min_size=1, max_size=4))
def test_one_of_several_holds(conditions: list[Tests]):
    found = either(conditions)
    for known in ALL:
        expected = any(hold(tests, known) for tests in conditions)
        assert expected == (True if found is None else bool(value(found, known)))


def test_contrary_branches_are_joined():
    a, b = parsed("a"), parsed("b")
    assert either([(a,), (contrary(a),)]) is None
    found = either([(a, b), (a, contrary(b))])
    assert found is not None
    assert ast.unparse(found) == "a"


@given(st.lists(st.tuples(CONDITIONS, st.booleans()), min_size=1, max_size=4))
def test_what_is_assigned_last_holds(drawn: list[tuple[Tests, bool]]):
    ways = [Way(ast.Constant(n), tests) for n, (tests, _) in enumerate(drawn)]
    made = [is_made for _, is_made in drawn]
    for known in ALL:
        taken = [n for n, way in enumerate(ways) if hold(way.tests, known)]
        if taken:
            assert value(chosen(ways), known) == taken[-1]
        found = any(hold(tests, known) for tests in there(ways, made))
        assert found == (bool(taken) and made[taken[-1]])
