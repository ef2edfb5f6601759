"""Reductions of 16-bit numbers: their error does not grow with their elements.

Errors are in units in the last place of the exact result, of the numbers as they are
rounded; of arrays whose elements may cancel, in those of the largest element.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mlax.functional as F
from mlax import nn

HALVES = ("bfloat16", "float16")
SIZES = (64, 2**16)
VARIANCES = {
    "var",
    "std",
    "l2_norm",
    "l2_normalize",
    "layer_norm",
    "rms_norm",
    "z_norm",
}
EXACT = {
    "sum": lambda x: jnp.sum(x, -1),
    "mean": lambda x: jnp.mean(x, -1),
    "var": lambda x: jnp.var(x, -1),
    "std": lambda x: jnp.std(x, -1),
    "l2_norm": lambda x: jnp.linalg.norm(x, axis=-1),
    "l2_normalize": lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True),
    "logsumexp": lambda x: jax.nn.logsumexp(x, axis=-1),
    "softmax": jax.nn.softmax,
    "log_softmax": jax.nn.log_softmax,
    "layer_norm": lambda x: jax.nn.standardize(x, axis=-1),
    "rms_norm": lambda x: x / jnp.sqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6),
}


def _units(actual, exact, dtype):
    """The largest error, in units in the last place of the largest exact number."""
    info = jnp.finfo(dtype)
    actual, exact = (np.asarray(v).astype("float64") for v in (actual, exact))
    exponent = np.log2(max(np.max(np.abs(exact)), float(info.tiny)))
    return np.max(np.abs(actual - exact)) / 2.0 ** (np.floor(exponent) - info.nmant)


def _wide(tree):
    return jax.tree.map(lambda v: jnp.asarray(np.asarray(v).astype("float64")), tree)


def _draw(shape, dtype, low=0.0, high=1.0, seed=0):
    values = np.random.default_rng(seed).uniform(low, high, shape)
    return jnp.asarray(values.astype("float32")).astype(dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_results_and_gradients(dtype):
    ours = {n: lambda x, n=n: getattr(F, n)(x, axis=-1) for n in EXACT}

    def both(functions, x, cotangents):
        pairs = {n: jax.vjp(f, x) for n, f in functions.items()}
        return {n: (y, vjp(cotangents[n])[0]) for n, (y, vjp) in pairs.items()}

    for size in SIZES:
        for center in (0.0, 100.0):
            normal = np.random.default_rng(size).normal(center, 1.0, (1, size))
            # In float16 the sum itself has to be in range.
            x = jnp.asarray(normal / (1.0 if size == 64 else 128.0)).astype(dtype)
            scale = 64.0 if dtype == "float16" else 1.0
            cotangents = {
                n: _draw(y.shape, dtype, -scale, scale, 1)
                for n, y in jax.eval_shape(
                    lambda x: {n: f(x) for n, f in ours.items()}, x
                ).items()
            }
            found = jax.jit(lambda x, g: both(ours, x, g))(x, cotangents)
            exact = jax.jit(lambda x, g: both(EXACT, x, g))(_wide(x), _wide(cotangents))
            for name, parts in found.items():
                limit = 8 if name in VARIANCES else 4
                for part, truth in zip(parts, exact[name], strict=True):
                    assert _units(part, truth, dtype) <= limit, (name, size, center)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_million_elements_eager_and_compiled(dtype):
    x = _draw((2**20,), dtype) * jnp.asarray(2.0**-5, dtype)
    exact = np.asarray(x).astype("float64")
    wanted = {"sum": exact.sum(), "mean": exact.mean(), "var": exact.var()}
    for name, value in wanted.items():
        function = getattr(F, name)
        for call in (function, jax.jit(function)):
            limit = 8 if name == "var" else 4
            assert _units(call(x), value, dtype) <= limit, name
    zeros = jnp.zeros(2**20, dtype)
    assert _units(F.logsumexp(zeros), np.log(2.0**20), dtype) <= 1
    assert _units(jax.jit(F.softmax)(zeros), 2.0**-20, dtype) <= 1


@pytest.mark.parametrize("dtype", HALVES)
def test_windows_and_their_gradients(dtype):
    x = _draw((1, 2, 40, 41), dtype)
    windows = ((28, 1, "VALID"), (7, 2, "SAME"))

    def pooled(x):
        found = []
        for window, strides, padding in windows:
            options = {"window": window, "strides": strides, "padding": padding}
            for name in ("avg_pool", "sum_pool"):
                pool = functools.partial(getattr(F, name), spatial_dims=2, **options)
                y, vjp = jax.vjp(pool, x)
                found += [y, vjp(jnp.full_like(y, 0.25))[0]]
        return found

    found, exact = jax.jit(pooled)(x), jax.jit(pooled)(_wide(x))
    assert all(_units(*pair, dtype) <= 4 for pair in zip(found, exact, strict=True))
    ones = jnp.ones((1, 1, 28, 28), dtype)
    assert float(F.avg_pool(ones, spatial_dims=2, window=28)[0, 0, 0, 0]) == 1.0
    large = jnp.full((1, 1, 4, 4), 6e4, dtype)
    assert float(F.avg_pool(large, spatial_dims=2, window=4)[0, 0, 0, 0]) == large.max()


def _layers(dtype):
    """Layers whose weights all rows share, and what they are applied to."""
    key, rows = jax.random.key(0), _draw((2**15, 3), dtype)
    images = _draw((32, 3, 32, 32), dtype)
    indices = jnp.asarray(np.arange(2**15) % 7 % 3, jnp.int8)
    return {
        "Linear": (nn.Linear.init(key, 3, 3, dtype=dtype), rows),
        "Bias": (nn.Bias.init(key, 3, dtype=dtype), rows),
        "Scaler": (nn.Scaler.init(key, 3, dtype=dtype), rows),
        "PReLU": (nn.PReLU.init(key, dtype=dtype), -rows),
        "LayerNorm": (nn.LayerNorm.init(key, 3, dtype=dtype), rows),
        "Conv": (nn.Conv.init(key, 2, 3, 2, 3, dtype=dtype), images),
        "Embed": (nn.Embed.init(key, 3, 2, dtype=dtype), indices),
    }


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_of_weights_that_all_rows_share(dtype):
    for name, ((weights, state, hyperparams), x) in _layers(dtype).items():

        def gradient(x, weights, name=name, state=state, hyperparams=hyperparams):
            fwd = getattr(nn, name).fwd
            y, vjp = jax.vjp(lambda w: fwd(x, w, state, hyperparams)[0], weights)
            return vjp(_draw(y.shape, dtype, 0.0, 0.5, 2).astype(y.dtype))[0]

        exact_x = x if x.dtype == jnp.int8 else _wide(x)
        exact = jax.jit(gradient)(exact_x, _wide(weights))
        found = jax.jit(gradient)(x, weights)
        for part, truth in zip(
            jax.tree.leaves(found), jax.tree.leaves(exact), strict=True
        ):
            # That of a scale adds scores, which have the error of a norm.
            limit = 8 if name == "LayerNorm" else 4
            assert _units(part, truth, dtype) <= limit, name


def test_derivatives_of_broadcasts_and_rows_of_every_order():
    table = jnp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "bfloat16")
    indices = jnp.asarray([2, 0, 2, -1, 2])
    weights, state, hyperparams = nn.Embed.init(jax.random.key(0), 3, 2)

    def loss(w):
        embedding = weights._replace(embedding=w)
        rows = nn.Embed.fwd(indices, embedding, state, hyperparams)[0]
        return F.sum(F.sum(rows, axis=0) ** 3)

    @jax.jit
    def orders(w):
        forward = jax.jvp(loss, (w,), (w,))[1]
        several = jax.vmap(jax.grad(loss))(jnp.stack([w, 2.0 * w]))
        return forward, several, jax.hessian(loss)(w)

    wide = table.astype("float32")
    for ours, exact in zip(orders(table), orders(wide), strict=True):
        np.testing.assert_allclose(ours.astype("float32"), exact, rtol=0.02)


@pytest.mark.parametrize("dtype", HALVES)
def test_equal_maxima_are_counted(dtype):
    x = jnp.zeros((1, 1, 64, 64), dtype)
    pool = nn.GlobalMaxPool.init(2)
    y, vjp = jax.vjp(lambda x: nn.GlobalMaxPool.fwd(x, *pool)[0], x)
    gradient = vjp(jnp.ones_like(y))[0]
    np.testing.assert_array_equal(gradient.astype("float32"), 2.0**-12)
