"""Layers at the ends of their dtypes: large moments, small weights, narrow integers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mlax.functional as F
from mlax import nn


def test_batch_norm_in_float16_with_moments_out_of_its_range():
    weights, state, hyperparams = nn.BatchNorm.init(
        jax.random.key(0), 4, dtype=jnp.float16
    )
    mean, var = np.asarray([1e5, 0.0, 100.0, -8e4]), np.asarray([1e6, 4e9, 4.0, 4e9])
    state = state._replace(mean=jnp.float32(mean), var=jnp.float32(var))
    x = jnp.asarray([[6e4, 6e4, 99.0, 0.0], [1.0, -6e4, 101.0, -6e4]], "float16")
    y = nn.BatchNorm.fwd(x, weights, state, hyperparams, inference_mode=True)[0]
    exact = (np.asarray(x, "float64") - mean) / np.sqrt(var + 1e-5)
    np.testing.assert_allclose(np.asarray(y, "float64"), exact, rtol=4e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("size", [1e-6, 1e-2, 1.0, 1e4])
def test_the_norm_of_spectral_norm_is_one(size, dtype):
    weight = np.random.default_rng(0).normal(size=(5, 6))
    size = max(size, 4.0 * float(jnp.finfo(dtype).tiny))
    weight = jnp.asarray(weight * size).astype(dtype)
    rounded = np.asarray(weight).astype("float64")
    weights, state, hyperparams = nn.SpectralNorm.init(
        jax.random.key(0), 6, iterations=30, dtype=dtype
    )
    y = nn.SpectralNorm.fwd(weight, weights, state, hyperparams)[0]
    exact = rounded / np.linalg.norm(rounded, 2)
    np.testing.assert_allclose(np.asarray(y).astype("float64"), exact, atol=0.02)


@pytest.mark.parametrize("dtype", ["int4", "int8", "uint8", "int16", "uint32", "int64"])
def test_rows_by_indices_of_every_integer_dtype(dtype):
    info = jnp.iinfo(dtype)
    given = [0, 5, *([-1, -3] if info.min < 0 else []), min(int(info.max), 300)]
    indices = jnp.asarray(given).astype(dtype)
    weights, state, hyperparams = nn.Embed.init(jax.random.key(0), 200, 3)
    table = np.asarray(weights.embedding)
    rows = nn.Embed.fwd(indices, weights, state, hyperparams)[0]
    for row, index in zip(rows, given, strict=True):
        exact = table[index] if index < 200 else np.full(3, np.nan)
        np.testing.assert_array_equal(row, exact)

    weights, state, hyperparams = nn.LearnedPositionalEmbedding.init(
        jax.random.key(0), 200, 3
    )
    table = np.asarray(weights.embedding)
    x = jnp.zeros((len(given), 3))
    rows = nn.LearnedPositionalEmbedding.fwd(
        x, weights, state, hyperparams, positions=indices
    )[0]
    for row, index in zip(rows, given, strict=True):
        exact = table[index] if 0 <= index < 200 else np.full(3, np.nan)
        np.testing.assert_array_equal(row, exact)


def test_the_largest_numbers_of_float16():
    y = F.layer_norm(jnp.asarray([6e4, -6e4, -6e4, -6e4], "float16"))
    np.testing.assert_allclose(y, [3**0.5, *[-(3**-0.5)] * 3], rtol=2e-3)
    total = F.logsumexp(jnp.zeros(2**16, "float16"))
    np.testing.assert_allclose(float(total), 16 * np.log(2.0), rtol=1e-3)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_floating_dtypes_of_less_than_16_bits_are_refused(dtype):
    x = jnp.zeros((2, 3)).astype(dtype)
    initialized = nn.Linear.init(jax.random.key(0), 3, 2)
    with pytest.raises(TypeError, match=f"x must be a floating array.*{dtype}"):
        nn.Linear.fwd(x, *initialized)
    for function in (F.sum, F.softmax, F.layer_norm, F.l2_norm):
        with pytest.raises(TypeError, match="x must be a floating array"):
            function(x)
        with pytest.raises(ValueError, match="accum_dtype must be"):
            function(jnp.zeros((2, 3)), accum_dtype=dtype)
