"""An axis of size 1 that is stretched by chance is no case of the tests; one that a type says is 1 is."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.picks import with_values
from mlax_scaffold.testing.stretched import Said, is_stretched, stretching


@pytest.mark.parametrize(
    ("made", "said", "expected"),
    [
        ((2, 3), (2, 1), True),
        ((2, 3), (2, Said(1)), False),
        ((2, 1), (2, 1), False),
        ((2, 3), (2, 2), False),
        ((2, 3), (2, None), False),
        ((2,), (2, 1), False),
        (((2, 3), (4,)), ((2, 1), (4,)), True),
        (((2, 3), (4,)), ((2, 1), (5,)), False),
    ],
)
def test_results(made, said, expected):
    assert is_stretched(made, said) is expected


def test_a_number_in_a_type_is_said():
    shapes = with_values(
        lambda pick: shapes_of(pick, {"x": "batch features"}, {"features": 1}), {}
    )
    named, number = shapes.expected(["batch features", "batch 1"])
    assert is_stretched([(1, 3)], [named])
    assert not is_stretched([(1, 3)], [number])


@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("ts,bsd->btd", ((1, 1), (2, 3, 4)), True),
        ("ts,bsd->btd", ((3, 3), (2, 3, 4)), False),
        ("ts,bsd->btd", ((1, 1), (2, 1, 4)), False),
        ("... i, i j -> ... j", ((2, 3), (1, 4)), True),
        ("...i,ij->...j", ((2, 3), (3, 4)), False),
    ],
)
def test_einstein_sums(equation, shapes, expected):
    with stretching() as found:
        jnp.einsum(equation, *map(jnp.ones, shapes))
    assert bool(found) is expected
    assert jnp.einsum.__name__ == "einsum"
