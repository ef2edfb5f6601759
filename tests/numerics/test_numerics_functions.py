"""Functions against NumPy in float64 and against jax.nn, with gradients."""

import itertools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import functional
from numerics_arrays import assert_close, draw, numpy

from mlax._core import arrays

AXES = [None, 0, -1, (0, 2), (-1, 0)]


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var"])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name, axis, keepdims, dtype):
    x = draw(0, (2, 3, 4), dtype)
    y = functional(name)(x, axis=axis, keepdims=keepdims)
    assert_close(y, getattr(np, name)(numpy(x), axis=axis, keepdims=keepdims), dtype)


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_moments_and_logsumexp(axis, keepdims, dtype):
    x = draw(0, (2, 3, 4), dtype)
    options = {"axis": axis, "keepdims": keepdims}
    mean, var = functional("moments")(x, **options)
    assert_close(mean, numpy(x).mean(**options), dtype)
    assert_close(var, numpy(x).var(**options), dtype)
    y = functional("logsumexp")(x, **options)
    assert_close(y, np.log(np.exp(numpy(x)).sum(**options)), dtype)


def test_the_variance_does_not_cancel():
    x = jnp.asarray([10000.0, 10000.5, 10001.0], "float32")
    assert_close(functional("var")(x), 1.0 / 6.0, "float32")


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax_is_that_of_jax(name, dtype):
    x = draw(0, (3, 5), dtype, scale=10.0)
    ours = lambda x: functional(name)(x, axis=-1)  # noqa: E731
    theirs = lambda x: getattr(jax.nn, name)(x, axis=-1)  # noqa: E731
    y, vjp = jax.vjp(ours, x)
    expected, expected_vjp = jax.vjp(theirs, x)
    assert_close(y, expected, dtype)
    cotangent = draw(1, y.shape, dtype)
    assert_close(vjp(cotangent), expected_vjp(cotangent), dtype)


@pytest.mark.parametrize(
    ("name", "empty"),
    [("softmax", 0.0), ("log_softmax", -np.inf), ("logsumexp", -np.inf)],
)
def test_rows_of_minus_infinity(name, empty, dtype):
    x = jnp.asarray([[-np.inf, -np.inf], [1.0, -np.inf]], dtype)
    y, vjp = jax.vjp(lambda x: functional(name)(x, axis=-1), x)
    assert bool(jnp.all(y[0] == empty))
    assert not bool(jnp.any(jnp.isnan(y)))
    assert bool(jnp.all(jnp.isfinite(vjp(jnp.ones_like(y))[0])))


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
        ours = functional("bernoulli")(key, shape=(100,), p=p)
        theirs = jax.random.bernoulli(key, jnp.float32(p), (100,))
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

    assert_close(functional("layer_norm")(x, axis=(-2, -1)), z(a, (2, 3)), dtype)
    assert_close(functional("z_norm")(x, axis=1), z(a, 1), dtype)
    assert_close(functional("standardize")(x), z(a, None), dtype)
    assert_close(functional("instance_norm")(x), z(a, (2, 3)), dtype)
    last = functional("instance_norm")(x, channel_last=True)
    assert_close(last, z(a, (1, 2)), dtype)
    groups = z(a.reshape(2, 3, 2, 3, 5), (2, 3, 4)).reshape(a.shape)
    assert_close(functional("group_norm")(x, groups=3), groups, dtype)
    rms = a / np.sqrt((a**2).mean(axis=-1, keepdims=True) + 1e-6)
    assert_close(functional("rms_norm")(x), rms, dtype)


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
    channel_last = jnp.moveaxis(x, 1, -1)
    peers = {
        "max_pool": nn.max_pool,
        "min_pool": lambda x, *options: -nn.max_pool(-x, *options),
        "avg_pool": nn.avg_pool,
    }
    for name, peer in peers.items():
        expected = peer(channel_last, (3, 2), steps, pairs)
        y = functional(name)(x, **options)
        assert_close(jnp.moveaxis(y, 1, -1), expected, dtype)
        last = functional(name)(channel_last, **options, channel_last=True)
        assert_close(last, expected, dtype)
    uncounted = functional("avg_pool")(x, **options, count_include_pad=False)
    expected = nn.avg_pool(channel_last, (3, 2), steps, pairs, count_include_pad=False)
    assert_close(jnp.moveaxis(uncounted, 1, -1), expected, dtype)
    total = functional("sum_pool")(x, **options)
    mean = functional("avg_pool")(x, **options)
    assert_close(total, numpy(mean) * 6, dtype)


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
