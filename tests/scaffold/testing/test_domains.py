"""A spec of one's own is tried at numbers at which it is defined."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.domains import (
    RANGES,
    NotFinite,
    Undefined,
    hold_where_defined,
)
from mlax_scaffold.testing.layer_gradients import assert_gradients

X = jax.ShapeDtypeStruct((5,), jnp.float32)


def entropy(x, n):
    return -x * jnp.log(x) * n


def nowhere(x, n):
    return jnp.log(-jnp.abs(x)) * n


def case_of(function, *, unsaid: bool = True, **settings) -> Case:
    counts = jax.ShapeDtypeStruct((5,), jnp.int32)
    case = Case.of_function(function, (X, counts), {}, **settings)
    return dataclasses.replace(case, unsaid=unsaid)


def test_positive_numbers_are_found():
    assert_gradients(case_of(entropy))


@pytest.mark.parametrize(
    "case",
    [case_of(nowhere), case_of(entropy, unsaid=False)],
    ids=["there are none", "the spec has to say it"],
)
def test_what_is_not_finite_is_told(case: Case):
    with pytest.raises(NotFinite, match="not finite"):
        assert_gradients(case)


def test_whether_other_cases_may_be_defined_is_told():
    with pytest.raises(Undefined):
        assert_gradients(case_of(nowhere))
    with pytest.raises(NotFinite) as told:
        assert_gradients(case_of(nowhere, unsaid=False))
    assert not isinstance(told.value, Undefined)


def test_a_wrong_gradient_is_told_there_too():
    @jax.custom_jvp
    def wrong(x):
        return jnp.log(x)

    @wrong.defjvp
    def rule(primals, tangents):
        return wrong(primals[0]), 2.0 * tangents[0] / primals[0]

    with pytest.raises(AssertionError, match="finite differences give"):
        assert_gradients(case_of(lambda x, n: wrong(x) * n))


def test_integers_and_known_ranges_are_left():
    tried = []

    def check(case: Case) -> None:
        tried.append(case.ranges)
        raise NotFinite("no")

    for ranges in ({}, {"x[0]": (0.0, 0.5)}):
        case = case_of(entropy, ranges=ranges)
        with pytest.raises(NotFinite):
            hold_where_defined(case, check)
    first = {"x[1]": (0, 1)}
    assert tried == [
        {},
        first,
        *({"x[0]": between} for between in RANGES),
        {"x[0]": (0.0, 0.5)},
        {"x[0]": (0.0, 0.5), **first},
    ]


def test_an_index_is_one_that_the_table_has():
    def rows(x, n):
        return jnp.where(n > 0, jnp.nan, x)

    case = case_of(rows, ranges={"x[1]": (0, 3)})
    assert_gradients(case)
