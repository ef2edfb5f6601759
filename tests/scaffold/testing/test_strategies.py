"""Domains hold what the words of the spec language take, and shapes fit their annotations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.model.shapes import ShapeError, ShapeMismatch, parse_shape
from mlax_scaffold.testing import covering, picks, strategies
from mlax_scaffold.testing.dims import shapes_of


@pytest.mark.parametrize(
    ("strategy", "holds"),
    [
        (strategies.sizes(max=7), lambda v: 1 <= v <= 7),
        (strategies.counts(), lambda v: 0 <= v <= 3),
        (strategies.size_sequences(), lambda v: v == () or min(v) >= 1),
        (strategies.integers(), lambda v: -3 <= v <= 3),
        (strategies.booleans(), lambda v: isinstance(v, bool)),
        (strategies.divisors(12, 18), lambda v: 12 % v == 18 % v == 0),
        (strategies.multiples(4, 6), lambda v: v % 4 == v % 6 == 0),
        (strategies.finite_floats(), lambda v: float(np.float16(v)) == v),
        (strategies.positives(), lambda v: np.float16(v) ** 2 > 0),
        (strategies.non_negatives(), lambda v: v >= 0),
        (strategies.probabilities(), lambda v: 0 <= v <= 1),
        (strategies.probabilities(max=0.5), lambda v: 0 <= v <= 0.5),
        (strategies.choices("a", "b"), lambda v: v in ("a", "b")),
        (strategies.optional(strategies.just(1)), lambda v: v in (None, 1)),
        (
            strategies.per_dim(strategies.sizes(), 2),
            lambda v: isinstance(v, int) or len(v) == 2,
        ),
        (strategies.axes(3), lambda v: np.zeros((1, 2, 3)).sum(v).ndim < 3),
        (strategies.sequences(strategies.just(1)), lambda v: 1 <= len(v) <= 3),
        (
            strategies.rows(strategies.sizes(), strategies.booleans()),
            lambda v: len(v) == 2 and v[0] >= 1 and isinstance(v[1], bool),
        ),
        (strategies.float_dtypes(x64=False), lambda v: v.itemsize <= 4),
        (strategies.scheduled(), lambda v: hash(v) is not None),
    ],
)
def test_values_are_valid(strategy, holds):
    assert all(map(holds, strategy.values))
    assert len(strategy.values) > 1


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        (strategies.probabilities(), lambda v: v == 0.0),
        (strategies.probabilities(), lambda v: v == 1.0),
        (strategies.non_negatives(), lambda v: v == 0.0),
        (strategies.per_dim(strategies.sizes(), 2), lambda v: v == (1, 2)),
        (strategies.paddings(2), lambda v: v == "SAME"),
        (strategies.divisors(12, 18), lambda v: v == 6),
        (strategies.divisors(12, 18), lambda v: v == 1),
        (strategies.multiples(4, 6), lambda v: v == 24),
        (strategies.paddings(2), lambda v: v == 2),
        (
            strategies.paddings(2),
            lambda v: isinstance(v, tuple) and any(isinstance(p, tuple) for p in v),
        ),
        (strategies.float_dtypes(), lambda v: v == jnp.bfloat16),
        (strategies.axes(2), lambda v: v == (-1, 0)),
        (strategies.scheduled(), callable),
        (strategies.optional(strategies.booleans()), lambda v: v is None),
    ],
)
def test_values_are_found(strategy, wanted):
    assert any(map(wanted, strategy.values))


def test_levels_are_the_options():
    assert strategies.optional(strategies.booleans()).levels == (
        (None,),
        (False,),
        (True,),
    )
    assert strategies.sizes().levels[0] == (1,)
    assert strategies.multiples(4, 6).levels == ((12,), (24, 36))
    assert all(v == 0.0 for v in strategies.decays().levels[-1])


@pytest.mark.parametrize("precision", strategies.precisions().values)
def test_precisions_are_taken_by_jax(precision):
    x = jax.ShapeDtypeStruct((2, 2), jnp.float32)
    jax.eval_shape(lambda x: jax.lax.dot(x, x, precision=precision), x)


@pytest.mark.parametrize("function", strategies.functions().values)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3,), 1), ((2, 3), 1), ((1, 3), 1), ((5, 7), 2), ((), None), ((9, 9), None)],
)
def test_functions_use_a_second_argument_where_it_lies(function, shape, axis):
    x = jax.random.normal(jax.random.key(0), (2, 3, 5, 7), jnp.float16)
    positions = jnp.ones(shape, jnp.int32)
    assert function(x).shape == x.shape
    found = function(x, positions)
    assert found.dtype == x.dtype
    assert found.shape == x.shape
    assert not jnp.array_equal(found, function(x))
    if axis is not None:  # The first position alone changes its own outputs alone.
        other = function(x, positions.at[(0,) * len(shape)].set(2))
        assert set(np.nonzero(np.asarray(other != found))[axis]) == {0}


@pytest.mark.parametrize("activation", strategies.activations().values)
def test_activations_keep_the_dtype(activation):
    for dtype in strategies.float_dtypes(x64=False).values:
        x = jax.ShapeDtypeStruct((2,), dtype)
        assert jax.eval_shape(activation, x).dtype == dtype
    assert jax.nn.relu not in strategies.activations(smooth=True).values


def test_schedules_are_equal_by_value():
    assert strategies.InverseDecay(0.5) == strategies.InverseDecay(0.5)
    assert strategies.InverseDecay(0.5)(1) == 0.25


def shapes_for(*args, **kwargs):
    """Shapes that were picked, in all cases that cover the options."""
    return [
        s for s, _ in covering.covering(lambda pick: shapes_of(pick, *args, **kwargs))
    ]


AGREEING = shapes_for(
    {
        "x": "*batch n in_features",
        "mask": "*batch #n 2*n+1 3 _",
        "carry": ("*batch n", None, ["in_features ..."]),
    },
    {"in_features": 5},
)


@pytest.mark.parametrize("shapes", AGREEING)
def test_shapes_agree(shapes):
    *batch, n, features = shapes["x"]
    assert features == 5
    assert 1 <= n <= 4
    assert len(batch) <= 2
    mask = parse_shape("*batch #n 2*n+1 3 _").resolve({})
    assert mask.bind(shapes["mask"], shapes.sizes) == shapes.sizes
    first, nothing, (last,) = shapes["carry"]
    assert (first, nothing, last[0]) == ((*batch, n), None, 5)
    assert shapes.expected({"y": "*batch n+1", "none": None}) == {
        "y": (*batch, n + 1),
        "none": None,
    }
    assert shapes.expected("*batch out") == (*batch, None)
    with pytest.raises(ShapeMismatch, match="size of out is not known"):
        shapes.expected("2*out")
    assert list(shapes) == ["x", "mask", "carry"]


@pytest.mark.parametrize("last", [False, True])
def test_conditional_shapes_and_ranks(last):
    shapes, *_ = shapes_for(
        {"x": "b *spatial c if channel_last else b c *spatial"},
        {"channel_last": last, "c": 9},
        ranks={"spatial": 2},
    )
    assert len(shapes["x"]) == 4
    assert shapes["x"][-1 if last else 1] == 9
    assert (
        shapes.expected("*spatial c if channel_last else c *spatial")
        == (shapes["x"][1:])
    )


def test_computed_sizes_are_not_negative():
    for shapes in shapes_for({"x": "n-2 n"}):
        assert shapes["x"][0] == shapes["x"][1] - 2 >= 0


def test_known_axes():
    shapes, *_ = shapes_for({"x": "*spatial n"}, {"spatial": (7, 8), "n": True})
    assert shapes["x"][:2] == (7, 8)
    assert shapes["x"][2] is not True


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("#n n", lambda s: s[0] == 1 < s[1]),
        ("#n n", lambda s: s[0] == s[1] > 1),
        ("...", lambda s: s == ()),
        ("...", lambda s: len(s) == 2),
        ("*a", lambda s: s == ()),
        ("_", lambda s: s[0] > 1),
    ],
)
def test_all_kinds_of_shapes_are_found(pattern, wanted):
    assert any(wanted(shapes["x"]) for shapes in shapes_for({"x": pattern}))


def test_bad_patterns_raise_at_once():
    with pytest.raises(ShapeError):
        shapes_for({"x": "... n ..."})


def test_shapes_with_several_variadic_names():
    shapes, *_ = shapes_for(
        {"x": "*batch c *spatial *size"},
        {"c": 9, "spatial_dims": 2, "size": (5, 6), "strides": (1,)},
    )
    *batch, channels, height, width, a, b = shapes["x"]
    assert (channels, a, b) == (9, 5, 6)
    assert len(batch) <= 2
    assert shapes.expected("*spatial *batch") == (height, width, *batch)
    assert shapes.expected("_ *out_spatial c") == (None, None, None, 9)


def test_given_shapes_that_broadcast_may_stand_before_what_they_broadcast_to():
    def make(pick: picks.Pick):
        patterns = {"reward": "# *batch rows n", "mask": "*batch rows n"}
        given = {"reward": (2, 1), "mask": (5, 2, 4)}
        return shapes_of(pick, patterns, given=given)

    [(found, _), *_] = covering.covering(make)
    assert found.shapes == {"reward": (2, 1), "mask": (5, 2, 4)}


def test_a_shape_that_is_given_says_which_sizes_fit():
    def make(pick: picks.Pick):
        known = {"features": pick("features", strategies.optional(strategies.sizes()))}
        given = {"x": (2, 3)}
        return shapes_of(pick, {"x": "*batch features"}, known, given=given)

    assert {found.fields["features"] for found, _ in covering.covering(make)} <= {
        3,
        None,
    }
