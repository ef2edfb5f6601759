"""Edges of normalization and reductions: constants, zeros, huge numbers, nothing at all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import functional, init_layer
from numerics_arrays import numpy

from mlax import nn

DTYPES = ["float16", "bfloat16", "float32", "float64"]
HUGE = {"float16": 1e4, "bfloat16": 1e30, "float32": 1e30, "float64": 1e200}
SHAPE = (4, 6, 5)

# Place, hyperparameters; all take an array of SHAPE whose last axis has 5 elements.
LAYERS = {
    "batch_norm": {"channels": 5, "channel_last": True},
    "layer_norm": {"features": 5},
    "rms_norm": {"features": 5},
    "instance_norm": {"channels": 5, "channel_last": True},
    "group_norm": {"groups": 5, "channels": 5, "channel_last": True},
    "z_norm": {"axis": (0, 1)},
    "weight_norm": {"features": 5},
    "spectral_norm": {"features": 5},
}
FUNCTIONS = {
    name: {"axis": -1}
    for name in (
        "sum",
        "mean",
        "var",
        "std",
        "moments",
        "l2_norm",
        "l2_normalize",
        "logsumexp",
        "logmeanexp",
        "softmax",
        "log_softmax",
        "standardize",
        "layer_norm",
        "rms_norm",
        "z_norm",
    )
}
NORMS = ("standardize", "layer_norm", "rms_norm", "z_norm", "l2_normalize")


def layer(place, hyper, dtype, training):
    """The layer as a function of its input and its weights, and weights."""
    trainables, state, hyperparams = init_layer(
        f"nn/{place}", hyper, jax.random.key(0), dtype
    )

    @jax.jit
    def call(x, weights):
        return hyperparams.apply(x, weights, state, not training)

    return call, trainables


def gradients(call, x, weights):
    """Results, the new state, and gradients of a sum with unlike coefficients."""

    @jax.jit
    def both(x, weights):
        y, vjp, state = jax.vjp(call, x, weights, has_aux=True)
        pattern = jnp.cos(jnp.arange(y.size, dtype="float32")).reshape(y.shape)
        return y, state, vjp(pattern.astype(y.dtype))

    return both(x, weights)


def assert_finite(tree):
    for leaf in jax.tree.leaves(tree):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            assert bool(np.isfinite(leaf).all()), leaf


def edges(dtype):
    """Arrays at the edge of what a dtype holds."""
    largest = HUGE[dtype]
    ramp = np.linspace(-1.0, 1.0, int(np.prod(SHAPE))).reshape(SHAPE)
    tiny = float(jnp.finfo(dtype).tiny)
    single = np.zeros(SHAPE)
    single[0, 0, 0] = largest
    values = {
        "zeros": np.zeros(SHAPE),
        "ones": np.ones(SHAPE),
        "huge": np.full(SHAPE, largest),
        "huge ramp": largest * ramp,
        "one huge": single,
        "tiny": np.full(SHAPE, tiny),
        "tiny ramp": 8.0 * tiny * ramp,
    }
    return {name: value.astype(jnp.dtype(dtype)) for name, value in values.items()}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", LAYERS)
def test_layers_are_finite_at_the_edges(place, dtype):
    modes = (True, False) if place in ("batch_norm", "spectral_norm") else (False,)
    for training in modes:
        call, weights = layer(place, LAYERS[place], dtype, training)
        run = jax.jit(lambda x, w, call=call: gradients(call, x, w))
        for name, x in edges(dtype).items():
            if place == "spectral_norm" and "huge" in name and dtype != "float16":
                continue  # squares of huge numbers are beyond what the dtype holds
            assert_finite(run(x, weights))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_finite_at_the_edges(name, dtype):
    function = functional(name)

    def call(x, _):
        y = function(x, **FUNCTIONS[name])
        return (y[0] + y[1], None) if name == "moments" else (y, None)

    run = jax.jit(lambda x: gradients(call, x, None))
    # Sums and variances of huge numbers are beyond what the dtype holds.
    squares = name in ("var", "moments")
    for edge, x in edges(dtype).items():
        if "huge" in edge and (squares or name == "sum"):
            continue
        if "huge" in edge and name == "std" and dtype != "float16":
            continue
        assert_finite(run(x))


@pytest.mark.parametrize(
    "place", ["layer_norm", "batch_norm", "instance_norm", "z_norm"]
)
def test_huge_numbers_of_float16_are_normalized_too(place):
    x = (1e4 * np.random.default_rng(0).normal(size=SHAPE)).astype(np.float16)
    call, weights = layer(place, LAYERS[place], "float16", training=True)
    y, state = call(jnp.asarray(x), weights)
    axis = {"layer_norm": -1, "instance_norm": 1}.get(place, (0, 1))
    a = x.astype(np.float64)
    wanted = (a - a.mean(axis, keepdims=True)) / a.std(axis, keepdims=True)
    np.testing.assert_allclose(numpy(y), wanted, atol=2e-2)
    if place == "batch_norm":
        np.testing.assert_allclose(state.var, 0.9 + 0.1 * a.var(axis), rtol=1e-2)


@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_constants_of_float16_are_normalized_to_zero(mean):
    """Also where the mean must be rounded, and the cotangents add up to a large number."""
    x = jnp.full((1024,), mean, "float16")
    cotangent = jnp.cos(jnp.arange(1024)).astype("float16")

    @jax.jit
    def run(x, cotangent):
        y, vjp = jax.vjp(functional("layer_norm"), x)
        return y, vjp(jnp.ones_like(y))[0], vjp(cotangent)[0]

    y, nothing, gradient = run(x, cotangent)
    np.testing.assert_array_equal(numpy(y), 0.0)
    # Everything is divided by the root of epsilon, also what is left by rounding.
    np.testing.assert_allclose(numpy(nothing), 0.0, atol=1.0)
    wanted = (numpy(cotangent) - numpy(cotangent).mean()) / np.sqrt(1e-5)
    np.testing.assert_allclose(numpy(gradient), wanted, rtol=2e-2, atol=1.0)


def _with_slopes(name):
    def both(x, cotangent):
        y, vjp = jax.vjp(functional(name), x)
        return y, *vjp(cotangent)

    return both


def test_the_gradient_of_the_mean_of_huge_numbers_of_float16():
    x = jnp.asarray(1e4 * np.linspace(-1.0, 1.0, 8), "float16")
    _, gradient = jax.jit(_with_slopes("mean"))(x, np.float16(400.0))
    np.testing.assert_allclose(numpy(gradient), 50.0, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("mean", 1e4), ("std", 0.0), ("var", 0.0), ("l2_norm", 2e4), ("logmeanexp", 1e4)],
)
def test_reductions_of_huge_numbers_of_float16(name, wanted):
    y = functional(name)(jnp.full((4,), 1e4, "float16"))
    np.testing.assert_allclose(numpy(y), wanted, rtol=2e-3)


@pytest.mark.parametrize("size", [70000, 1_000_000])
def test_the_mean_of_more_than_float16_can_count(size):
    x = np.random.default_rng(0).uniform(0.5, 1.5, size).astype(np.float16)
    y = functional("mean")(jnp.asarray(x), accum_dtype="float32")
    np.testing.assert_allclose(numpy(y), x.astype(np.float64).mean(), rtol=1e-3)
    assert bool(jnp.isfinite(functional("mean")(jnp.asarray(x))))


@pytest.mark.parametrize("name", NORMS)
def test_norms_of_huge_numbers_of_float32_are_finite(name):
    x = jnp.asarray(1e30 * np.linspace(-1.0, 1.0, 8), "float32")
    y, *slopes = jax.jit(_with_slopes(name))(x, np.cos(np.arange(8.0, dtype="float32")))
    assert_finite((y, slopes))
    if name == "l2_normalize":
        np.testing.assert_allclose(
            numpy(y), numpy(x) / np.linalg.norm(numpy(x)), rtol=1e-6
        )


def test_the_norm_of_huge_and_of_tiny_vectors():
    for size in (1e30, 1e-30):
        y = functional("l2_norm")(jnp.asarray([3.0 * size, 4.0 * size], "float32"))
        np.testing.assert_allclose(numpy(y), 5.0 * size, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_gradient_of_the_root_mean_square(dtype):
    gradient = jax.jit(jax.grad(functional("rms")))
    assert not gradient(jnp.zeros((2, 3), dtype)).any()
    x = np.asarray([3.0, 0.0, -4.0, 1.0])
    wanted = x / (x.size * np.sqrt(np.mean(x**2)))
    np.testing.assert_allclose(
        numpy(gradient(jnp.asarray(x, dtype))), wanted, rtol=2e-3, atol=1e-7
    )


@pytest.mark.parametrize("name", ["var", "std", "standardize"])
def test_nothing_cancels(name):
    a = 1e4 + np.random.default_rng(0).uniform(-1.0, 1.0, 1000)
    a = a.astype(np.float32).astype(np.float64)
    y = functional(name)(jnp.asarray(a, "float32"))
    wanted = {"var": a.var(), "std": a.std()}.get(name)
    if wanted is None:
        wanted = (a - a.mean()) / np.sqrt(a.var() + 1e-5)
    np.testing.assert_allclose(numpy(y), wanted, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", [p for p in LAYERS if p != "spectral_norm"])
def test_an_empty_batch(place, dtype):
    shape = (0, 5) if place == "weight_norm" else (0, 6, 5)
    call, weights = layer(place, LAYERS[place], dtype, training=True)
    y, state, found = gradients(call, jnp.zeros(shape, dtype), weights)
    assert y.shape == shape
    assert_finite((state, found))
    if place == "batch_norm":
        np.testing.assert_array_equal(numpy(state.mean), 0.0)
        np.testing.assert_array_equal(numpy(state.var), 1.0)


def test_means_of_nothing_are_zero():
    x = jnp.zeros((0, 3), "float32")
    for name in ("sum", "mean", "var", "std", "l2_norm"):
        np.testing.assert_array_equal(functional(name)(x, axis=0), jnp.zeros(3))
    assert bool(jnp.all(functional("logsumexp")(x, axis=0) == -jnp.inf))
    assert bool(jnp.all(functional("prod")(x, axis=0) == 1.0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dropout_and_averages_of_nothing(dtype):
    x = jnp.zeros((0, 3), dtype)
    _, _, hyperparams = nn.Dropout.init(0.5)
    y, _ = hyperparams.apply(x, None, None, False, jax.random.key(0))
    assert y.shape == (0, 3)
    _, _, hyperparams = nn.DropPath.init(0.5)
    y, _ = hyperparams.apply(x, None, None, False, jax.random.key(0))
    assert y.shape == (0, 3)
