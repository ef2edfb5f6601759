"""Results and gradients of float16 over its whole range, against float64."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import functional
from numerics_arrays import assert_close, draw

MAGNITUDES = (1e-3, 1.0, 100.0, 1e4)
COTANGENTS = (1e-3, 1.0, 1e3)


@pytest.mark.parametrize("name", ["mean", "var", "std", "l2_norm"])
def test_gradients_in_float16_are_in_range_where_the_exact_ones_are(name):
    """Scaled losses make large gradients: those of the scale of x must not come between."""

    @jax.jit
    def both(x, scale):
        y, vjp = jax.vjp(lambda x: functional(name)(x, axis=-1), x)
        return y, vjp(jnp.broadcast_to(scale, y.shape))[0]

    compared = 0
    for magnitude in MAGNITUDES:
        x = (magnitude * draw(0, (2, 6), "float64")).astype("float16")
        for cotangent in COTANGENTS:
            scale = jnp.asarray(cotangent, "float16")
            y, gradient = both(x, scale)
            exact, slope = both(x.astype("float64"), scale.astype("float64"))
            for ours, theirs in ((y, exact), (gradient, slope)):
                largest = float(jnp.max(jnp.abs(theirs)))
                if 1e-4 < largest < 6e4:
                    worst = float(jnp.max(jnp.abs(ours - theirs)))
                    assert worst < 0.01 * largest, (magnitude, cotangent, ours)
                    compared += 1
    assert compared > 12


def test_second_gradients_are_those_of_jax(dtype):
    x = draw(0, (4,), dtype)
    for name, theirs in {"std": jnp.std, "l2_norm": jnp.linalg.norm}.items():
        ours = jax.jit(jax.hessian(functional(name)))(x)
        assert_close(ours, jax.jit(jax.hessian(theirs))(x), dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_norms_of_the_largest_numbers(dtype):
    largest = float(jnp.finfo(dtype).max)
    vector = jnp.full(2, largest, dtype)
    quarters = jnp.asarray([largest / 4, -largest / 4], dtype)
    infinite = jnp.asarray([jnp.inf, 1.0], dtype)

    @jax.jit
    def norms(vector, quarters, infinite):
        unit = functional("l2_normalize")(vector)
        return unit, functional("std")(quarters), functional("l2_norm")(infinite)

    unit, spread, length = norms(vector, quarters, infinite)
    np.testing.assert_allclose(np.asarray(unit, "float64"), 0.5**0.5, rtol=0.01)
    np.testing.assert_allclose(float(spread), largest / 4, rtol=0.01)
    assert float(length) == np.inf


@pytest.mark.optimized  # What cancels in that of jax, machine code decides.
@pytest.mark.parametrize("approximate", [True, False])
def test_gelu_is_that_of_jax(approximate, dtype):
    x = jnp.concatenate([draw(0, (20,), dtype, scale=3.0), jnp.zeros(1, dtype)])
    results = []
    for gelu in (functional("gelu"), jax.nn.gelu):
        f = lambda x, gelu=gelu: gelu(x, approximate=approximate)  # noqa: E731
        orders = lambda x, f=f: (f(x), jax.grad(f)(x), jax.grad(jax.grad(f))(x))  # noqa: E731
        results.append(jax.jit(jax.vmap(orders))(x))
    assert_close(results[0], results[1], dtype)


def test_the_tail_of_gelu_does_not_cancel():
    x = np.linspace(-12.0, -3.0, 19)
    exact = [0.5 * v * math.erfc(-v / math.sqrt(2.0)) for v in x]
    y = functional("gelu")(jnp.asarray(x), approximate=False)
    np.testing.assert_allclose(y, exact, rtol=1e-12)
    u = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
    y = functional("gelu")(jnp.asarray(x), approximate=True)
    np.testing.assert_allclose(y, x / (1.0 + np.exp(-2.0 * u)), rtol=1e-12)


@pytest.mark.parametrize("approximate", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gelu_and_its_gradients_are_finite(approximate, dtype):
    largest = float(jnp.finfo(dtype).max)
    x = jnp.asarray([-largest, -1e4, -41.0, 0.0, 41.0, 1e4, largest], dtype)
    gelu = lambda x: functional("gelu")(x, approximate=approximate)  # noqa: E731
    orders = lambda x: (gelu(x), jax.grad(gelu)(x), jax.grad(jax.grad(gelu))(x))  # noqa: E731
    y, slope, bend = jax.jit(jax.vmap(orders))(x)
    np.testing.assert_array_equal(y, jnp.maximum(x, 0.0))
    np.testing.assert_array_equal(slope, [0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0])
    assert bool(np.isfinite(bend).all())
