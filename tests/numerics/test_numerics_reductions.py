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
from mlax import nn, optim
from mlax_scaffold.testing.programs import quick

HALVES = ("bfloat16", "float16")
SIZES = (64, 2**11, 2**16, 2**20)
FAST = {"xla_backend_optimization_level": 0}
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


@functools.cache
def _program(names, exact=False):
    """Of rows and cotangents: results and gradients of the named functions, compiled."""

    def both(x, cotangents):
        found = {}
        for name in names:
            function = functools.partial(getattr(F, name), axis=-1)
            y, vjp = jax.vjp(EXACT[name] if exact else function, x)
            found[name] = y, vjp(cotangents[name])[0]
        return found

    return jax.jit(both, compiler_options=quick() if exact else FAST)


@pytest.mark.parametrize("size", SIZES)
def test_results_and_gradients(size):
    for dtype in HALVES:
        normal = np.random.default_rng(size).normal([[0.0], [100.0]], 1.0, (2, size))
        # In float16 norms have to be in range, and sums in results and gradients.
        small = dtype == "float16"
        x = jnp.asarray(normal / 4.0).astype(dtype)
        names = tuple(n for n in EXACT if n != "sum" or not small or size <= 2**11)
        scale = 64.0 if small and size < 2**20 else 1.0
        shapes = {n: jax.eval_shape(EXACT[n], x).shape for n in EXACT}
        given = {n: _draw(s, dtype, -scale, scale, 1) for n, s in shapes.items()}
        found = _program(names)(x, {n: given[n] for n in names})
        exact = _program(tuple(EXACT), exact=True)(_wide(x), _wide(given))
        for name, parts in found.items():
            limit = 8 if name in VARIANCES else 4
            for part, truth in zip(parts, exact[name], strict=True):
                units = [_units(*rows, dtype) for rows in zip(part, truth, strict=True)]
                assert max(units) <= limit, (name, dtype, units)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_million_elements_eager(dtype):
    x = _draw((2**20,), dtype) * jnp.asarray(2.0**-5, dtype)
    exact = np.asarray(x).astype("float64")
    wanted = {"sum": exact.sum(), "mean": exact.mean(), "var": exact.var()}
    for name, value in wanted.items():
        limit = 8 if name == "var" else 4
        assert _units(getattr(F, name)(x), value, dtype) <= limit, name
    zeros = jnp.zeros(2**20, dtype)
    assert _units(F.logsumexp(zeros), np.log(2.0**20), dtype) <= 1
    assert _units(F.softmax(zeros), 2.0**-20, dtype) <= 1


@jax.jit
def _pooled(x):
    found = []
    for window, strides, padding in ((28, 1, "VALID"), (7, 2, "SAME")):
        options = {"window": window, "strides": strides, "padding": padding}
        for name in ("avg_pool", "sum_pool"):
            pool = functools.partial(getattr(F, name), spatial_dims=2, **options)
            y, vjp = jax.vjp(pool, x)
            found += [y, vjp(jnp.full_like(y, 0.25))[0]]
    return found


@pytest.mark.parametrize("dtype", HALVES)
def test_windows_and_their_gradients(dtype):
    x = _draw((1, 2, 40, 41), dtype)
    pairs = zip(_pooled(x), _pooled(_wide(x)), strict=True)
    assert all(_units(*pair, dtype) <= 4 for pair in pairs)
    ones = jnp.ones((1, 1, 28, 28), dtype)
    assert float(F.avg_pool(ones, spatial_dims=2, window=28)[0, 0, 0, 0]) == 1.0
    large = jnp.full((1, 1, 4, 4), 6e4, dtype)
    assert float(F.avg_pool(large, spatial_dims=2, window=4)[0, 0, 0, 0]) == large.max()
    image = _draw((1, 1, 2**10, 2**10), dtype)
    pool = nn.GlobalAvgPool.init(2)
    y, vjp = jax.vjp(lambda x: nn.GlobalAvgPool.fwd(x, *pool)[0], image)
    assert _units(y, np.mean(np.asarray(image, "float64")), dtype) <= 4
    assert _units(vjp(64.0 * jnp.ones_like(y))[0], 2.0**-14, dtype) == 0


def _layers(dtype):
    """Layers whose weights all rows share, and what they are applied to."""
    key, rows = jax.random.key(0), _draw((2**20, 2), dtype)
    images = _draw((1, 2, 2**8, 2**8), dtype)
    indices = jnp.asarray(np.arange(2**15) % 7 % 3, jnp.int8)
    return {
        "Linear": (nn.Linear.init(key, 2, 2, dtype=dtype), rows),
        "Bias": (nn.Bias.init(key, 2, dtype=dtype), rows),
        "Scaler": (nn.Scaler.init(key, 2, dtype=dtype), rows),
        "PReLU": (nn.PReLU.init(key, dtype=dtype), -rows),
        "LayerNorm": (nn.LayerNorm.init(key, 2, dtype=dtype), rows),
        "Conv": (nn.Conv.init(key, 2, 2, 2, 3, dtype=dtype), images),
        "Embed": (nn.Embed.init(key, 3, 2, dtype=dtype), indices),
    }


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_of_weights_that_all_rows_share(dtype):
    for name, ((weights, state, hyperparams), x) in _layers(dtype).items():
        fwd = getattr(nn, name).fwd

        @jax.jit
        def gradient(
            x, weights, cotangent, fwd=fwd, state=state, hyperparams=hyperparams
        ):
            _, vjp = jax.vjp(lambda w: fwd(x, w, state, hyperparams)[0], weights)
            return vjp(cotangent)[0]

        y, _ = jax.eval_shape(fwd, x, weights, state, hyperparams)
        cotangent = _draw(y.shape, dtype, 0.0, 2.0**-5, 2)
        exact_x = x if x.dtype == jnp.int8 else _wide(x)
        exact = gradient(exact_x, _wide(weights), _wide(cotangent))
        found = gradient(x, weights, cotangent)
        for part, truth in zip(
            jax.tree.leaves(found), jax.tree.leaves(exact), strict=True
        ):
            # That of a scale adds scores, which have the error of a norm.
            limit = 8 if name == "LayerNorm" else 4
            assert _units(part, truth, dtype) <= limit, name


def _attention(dtype, keys):
    """chunked_attention and its gradients, and those of it in float64."""
    shapes = ((32, 1, 4), (keys, 1, 4), (keys, 1, 4), (32, 1, 4))
    q, k, _, cotangent = (_draw(s, dtype, seed=i) for i, s in enumerate(shapes))
    # Values that keys have nothing to do with would leave no gradient of queries.
    arrays = [q, k, k, cotangent]

    @jax.jit
    def both(q, k, v, cotangent):
        attend = functools.partial(F.chunked_attention, chunk_size=16)
        y, vjp = jax.vjp(attend, q, k, v)
        return y, *vjp(cotangent)

    return both(*arrays), both(*_wide(arrays))


@pytest.mark.parametrize("dtype", HALVES)
def test_attention_over_many_chunks(dtype):
    units = [
        [_units(*pair, dtype) for pair in zip(*_attention(dtype, keys), strict=True)]
        for keys in (64, 2**12)
    ]
    assert max(units[0][0], units[1][0]) <= 4
    # Gradients of queries and keys are differences that cancel.
    assert all(many <= 2.0 * few + 1.0 for few, many in zip(*units, strict=True)), units


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_over_examples(dtype):
    weight, examples = jnp.zeros(3, dtype), _draw((2**14, 3), dtype)
    inner = optim.Sgd.init(weight, 1.0)
    given = optim.DifferentiallyPrivate.init(inner, 8.0, 0.0)
    key = jax.random.key(0)
    update, _ = optim.DifferentiallyPrivate.step(
        examples, given[0], weight, given[1], key=key
    )
    exact = -np.mean(np.asarray(examples).astype("float64"), 0)
    assert _units(update, exact, dtype) <= 4


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
