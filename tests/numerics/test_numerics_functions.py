"""Functions against NumPy in float64 and against jax.nn, with gradients."""

import functools
import itertools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import functional
from numerics_arrays import (
    assert_close,
    assert_same_vjp,
    compiled,
    draw,
    numpy,
    reference,
)

import mlax.functional
from mlax._core import arrays

OVER: list[dict[str, Any]] = [
    {"axis": axis, "keepdims": keepdims}
    for axis in (None, 0, -1, (0, 2), (-1, 0))
    for keepdims in (False, True)
]
"""What of an array of three axes is reduced."""


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var"])
def test_reductions(name, dtype):
    @functools.partial(compiled, dtype=dtype)
    def run(x):
        return [functional(name)(x, **options) for options in OVER]

    x = draw(0, (2, 3, 4), dtype)
    for y, options in zip(run(x), OVER, strict=True):
        assert_close(y, getattr(np, name)(numpy(x), **options), dtype)


@pytest.mark.parametrize("size", [0, 1, 128, 129, 40_000])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_running_sums_do_not_lose_more_with_every_element(size, dtype):
    x = np.abs(draw(0, (2, size), "float64")) * 1e-3
    x = jnp.asarray(x, dtype)
    y = compiled(functional("cumsum"), dtype=dtype)(x)
    expected = np.cumsum(numpy(x), axis=-1)
    assert y.dtype == x.dtype
    error = np.abs(numpy(y) - expected) / expected
    assert np.max(error, initial=0.0) <= 4 * float(jnp.finfo(dtype).eps)


@pytest.mark.parametrize("axis", [0, -1, (1, 0)])
def test_running_sums(axis, dtype):
    x = draw(0, (2, 3, 4), dtype)
    y = compiled(lambda x: functional("cumsum")(x, axis=axis), dtype=dtype)(x)
    expected = numpy(x)
    for a in (axis,) if isinstance(axis, int) else axis:
        expected = np.cumsum(expected, axis=a)
    assert_close(y, expected, dtype)


def test_running_sums_of_what_is_not_finite(dtype):
    x = jnp.asarray([1.0, -jnp.inf, 2.0, jnp.inf, 3.0], dtype)
    expected = [1.0, -np.inf, -np.inf, np.nan, np.nan]
    np.testing.assert_array_equal(numpy(functional("cumsum")(x)), expected)


def test_moments_and_logsumexp(dtype):
    @functools.partial(compiled, dtype=dtype)
    def run(x):
        return [
            (
                *functional("moments")(x, **options),
                functional("logsumexp")(x, **options),
            )
            for options in OVER
        ]

    x = draw(0, (2, 3, 4), dtype)
    for (mean, var, y), options in zip(run(x), OVER, strict=True):
        assert_close(mean, numpy(x).mean(**options), dtype)
        assert_close(var, numpy(x).var(**options), dtype)
        assert_close(y, np.log(np.exp(numpy(x)).sum(**options)), dtype)


def test_the_variance_does_not_cancel():
    x = jnp.asarray([10000.0, 10000.5, 10001.0], "float32")
    assert_close(functional("var")(x), 1.0 / 6.0, "float32")


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax_is_that_of_jax(name, dtype):
    x = draw(0, (3, 5), dtype, scale=10.0)
    ours = lambda x: functional(name)(x, axis=-1)  # noqa: E731
    theirs = lambda x: getattr(jax.nn, name)(x, axis=-1)  # noqa: E731
    assert_same_vjp(ours, theirs, (x,), dtype)


@pytest.mark.parametrize(
    ("name", "empty"),
    [("softmax", 0.0), ("log_softmax", -np.inf), ("logsumexp", -np.inf)],
)
def test_rows_of_minus_infinity(name, empty, dtype):
    x = jnp.asarray([[-np.inf, -np.inf], [1.0, -np.inf]], dtype)

    @functools.partial(compiled, dtype=dtype)
    def run(x):
        y, vjp = jax.vjp(lambda x: functional(name)(x, axis=-1), x)
        return y, *vjp(jnp.ones_like(y))

    y, gradient = (np.asarray(a, np.float64) for a in run(x))
    assert np.all(y[0] == empty)
    assert not np.any(np.isnan(y))
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("p", [0.0, 1e-6, 0.1, 0.3, 0.5, 0.7, 0.9999999, 1.0])
def test_bernoulli_gives_the_mask_of_jax(p):
    key = jax.random.key(3)
    ours = functional("bernoulli")(key, shape=(200, 501), p=p)
    theirs = jax.random.bernoulli(key, jnp.float32(p), (200, 501))
    np.testing.assert_array_equal(ours, theirs)


def test_bernoulli_rounds_the_probability_as_float32():
    key = jax.random.key(0)
    draws = np.asarray(jax.random.bits(key, (100,), jnp.uint32) >> 9)
    # A probability a little above a number that is drawn, which is not so in float32.
    for drawn in draws[draws >= 2**22]:
        p = (int(drawn) + 0.1) / 2**23
        ours = mlax.functional.bernoulli(key, shape=(100,), p=p)
        theirs = jax.random.bernoulli(key, np.float32(p), (100,))
        np.testing.assert_array_equal(ours, theirs)


def test_dropout(dtype):
    key, x = jax.random.key(5), draw(0, (50, 40), dtype)
    y = functional("dropout")(x, key, rate=0.25)
    keep = np.asarray(jax.random.bernoulli(key, jnp.float32(0.75), x.shape))
    assert_close(y, np.where(keep, numpy(x) / 0.75, 0.0), dtype)
    together = functional("dropout")(
        jnp.ones_like(x), key, rate=0.25, broadcast_axis=-1
    )
    assert set(np.ptp(np.asarray(together), axis=1)) == {0.0}
    assert_close(functional("dropout")(x, key, rate=1.0), np.zeros(x.shape), dtype)


def test_normalizations(dtype):
    x = draw(0, (2, 6, 3, 5), dtype) + 1.0
    a = numpy(x)

    def z(a, axis):
        center = a.mean(axis=axis, keepdims=True)
        return (a - center) / np.sqrt(a.var(axis=axis, keepdims=True) + 1e-5)

    @functools.partial(compiled, dtype=dtype)
    def run(x):
        return {
            "layer": functional("layer_norm")(x, axis=(-2, -1)),
            "z": functional("z_norm")(x, axis=1),
            "all": functional("standardize")(x),
            "instance": functional("instance_norm")(x),
            "last": functional("instance_norm")(x, channel_last=True),
            "groups": functional("group_norm")(x, groups=3),
            "rms": functional("rms_norm")(x),
        }

    groups = z(a.reshape(2, 3, 2, 3, 5), (2, 3, 4)).reshape(a.shape)
    expected = {
        "layer": z(a, (2, 3)),
        "z": z(a, 1),
        "all": z(a, None),
        "instance": z(a, (2, 3)),
        "last": z(a, (1, 2)),
        "groups": groups,
        "rms": a / np.sqrt((a**2).mean(axis=-1, keepdims=True) + 1e-6),
    }
    assert_close(run(x), expected, dtype)


def test_accum_dtype_is_more_accurate_and_keeps_the_dtype():
    x = jnp.asarray(1000.0 + np.arange(512) % 7, "bfloat16")
    exact = numpy(x).mean()
    strict = functional("mean")(x)
    accumulated = functional("mean")(x, accum_dtype="float32")
    assert strict.dtype == accumulated.dtype == jnp.bfloat16
    assert abs(float(accumulated) - exact) <= 4.0
    assert abs(float(accumulated) - exact) <= abs(float(strict) - exact)


@pytest.mark.parametrize("padding", ["VALID", "SAME", 1, ((0, 1), (1, 0))], ids=str)
@pytest.mark.parametrize("strides", [1, (2, 1)], ids=str)
def test_pools(padding, strides, dtype):
    x = draw(0, (2, 3, 7, 6), dtype)
    options = {
        "spatial_dims": 2,
        "window": (3, 2),
        "strides": strides,
        "padding": padding,
    }
    pairs: Any = ((1, 1), (1, 1)) if padding == 1 else padding
    steps = (1, 1) if strides == 1 else strides
    last = np.moveaxis(np.asarray(x), 1, -1)
    names = ("max_pool", "min_pool", "avg_pool", "sum_pool")

    @functools.partial(compiled, dtype=dtype)
    def run(x, last):
        """Each in both layouts, and averages of what is there."""
        return [
            (
                *(functional(name)(x, **options) for name in names),
                functional("avg_pool")(x, **options, count_include_pad=False),
            ),
            [functional(n)(last, **options, channel_last=True) for n in names],
        ]

    def peers(x):
        given = (3, 2), steps, pairs
        mean = nn.avg_pool(x, *given)
        partial = nn.avg_pool(x, *given, count_include_pad=False)
        return nn.max_pool(x, *given), -nn.max_pool(-x, *given), mean, mean * 6, partial

    firsts, lasts = run(x, last)
    expected = reference(peers)(last)
    assert_close([np.moveaxis(y, 1, -1) for y in firsts], expected, dtype)
    assert_close(lasts, expected[:4], dtype)


def test_bias_correction_is_exact_to_rounding(dtype):
    correct = functional("bias_correction")
    for step, decay in itertools.product((1, 10, 1000), (0.0, 0.9, 0.999)):
        value = correct(jnp.asarray(float(step), dtype), decay=decay)
        expected = -np.expm1(step * np.log(decay)) if decay else 1.0
        relative = float(value) / expected - 1.0
        assert abs(relative) < 10 * float(jnp.finfo(dtype).eps)


def test_ema_moves_in_half_precision():
    # 0.999 is 1.0 in bfloat16: an average with that weight would never move.
    y = functional("ema")(jnp.bfloat16(0.0), jnp.bfloat16(1.0), decay=0.999)
    assert 0.0009 < float(y) < 0.0011


def test_cast_leaves_other_leaves_alone():
    tree = {"a": jnp.ones(2, "float32"), "b": jnp.arange(2), "c": None}
    result = arrays.cast(tree, "float16")
    assert result["a"].dtype == jnp.float16
    assert result["b"].dtype == tree["b"].dtype
    assert result["c"] is None
