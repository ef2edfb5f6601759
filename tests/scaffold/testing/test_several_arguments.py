"""Functions that take any number of arguments are given a tuple of them."""

from __future__ import annotations

from mlax_scaffold.testing.several_arguments import called_with, spread


def made(first, second=2, *others, last=4):
    return first, second, others, last


def test_a_tuple_of_arguments_is_spread_behind_those_that_come_first():
    assert called_with(made, {"others": (7, 8), "first": 1}) == (1, 2, (7, 8), 4)
    assert called_with(made, {"others": (), "first": 1, "last": 0}) == (1, 2, (), 0)


def test_arguments_of_functions_that_take_so_many_are_given_by_name():
    assert called_with(made, {"first": 1, "last": 3}) == (1, 2, (), 3)


def test_the_last_argument_by_place_is_spread_where_any_number_is_taken():
    assert [*spread(made, [1, 2, (3, 4)])] == [1, 2, 3, 4]
    assert [*spread(made, [1, 2, 3, 4])] == [1, 2, 3, 4]
    assert [*spread(lambda x: x, [(1, 2)])] == [(1, 2)]
