"""Results do not depend on liberties that compilers for accelerators take: see `freely`."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import functional, init_layer
from numerics_arrays import numpy
from numerics_liberties import freely

HALVES = ("float16", "bfloat16")
DTYPES = (*HALVES, "float32")


def _edges(dtype):
    info = jnp.finfo(dtype)
    ramp = np.linspace(-1.0, 1.0, 5)
    rows = [
        np.zeros(5),
        np.full(5, float(info.tiny)),
        8.0 * float(info.tiny) * ramp,
        ramp,
        0.5 * float(info.max) * ramp,
        np.full(5, float(info.max)),
        [float(info.max), 0.0, 0.0, 0.0, 0.0],
    ]
    return jnp.asarray(np.stack(rows)).astype(dtype)


def _with_gradient(function, cotangent):
    def both(x):
        y, vjp = jax.vjp(function, x)
        return y, vjp(cotangent.astype(x.dtype))[0]

    return both


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["l2_normalize", "l2_norm", "layer_norm", "rms_norm"])
def test_vectors_of_any_length(name, dtype):
    # Lengths and sums of the largest numbers are out of range.
    x = _edges(dtype)[: None if name == "l2_normalize" else -2]
    given = functools.partial(functional(name), axis=-1)
    shape = jax.eval_shape(given, x).shape
    cotangent = jnp.cos(jnp.arange(np.prod(shape), dtype="float32")).reshape(shape)
    both = _with_gradient(given, cotangent)
    exact = jax.jit(both)(x)
    for free, plain in zip(freely(both)(x), exact, strict=True):
        # Of vectors near the smallest number elements are lost, where subnormal ones are.
        for i in range(len(x)):
            a, b = numpy(free)[i], numpy(plain)[i]
            assert np.isfinite(a).all(), (i, a)
            bound = 0.3 if i in (1, 2) else 16.0 * float(jnp.finfo(dtype).eps)
            np.testing.assert_allclose(a, b, rtol=0.0, atol=bound * np.abs(b).max())


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_rows_of_a_normalized_kernel(dtype):
    trainables, state, hyperparams = init_layer(
        "nn/weight_norm", {"features": 5}, jax.random.key(0), dtype
    )
    free = freely(lambda x: hyperparams.apply(x, trainables, state, True)[0])(
        _edges(dtype)[:4]
    )
    assert np.isfinite(numpy(free)).all()


@pytest.mark.parametrize("size", [7, 2**11, 2**16])
@pytest.mark.parametrize("magnitude", [1e-4, 0.03, 1.0, 6e4])
def test_means_in_sixteen_bits(magnitude, size):
    """Of products that are rounded one by one."""
    for dtype in HALVES:
        values = np.random.default_rng(size).uniform(0.5, 1.0, size) * magnitude
        x = jnp.asarray(values).astype(dtype)
        both = _with_gradient(functional("mean"), jnp.ones(()))
        y, gradient = freely(both)(x)
        exact = numpy(x).mean()
        spacing = 2.0 * float(jnp.finfo(dtype).eps)
        smallest = float(jnp.finfo(dtype).smallest_subnormal)
        assert abs(float(y) - exact) <= max(spacing * exact, smallest)
        wanted = np.full(size, 1.0 / size)
        np.testing.assert_allclose(numpy(gradient), wanted, rtol=spacing, atol=smallest)
