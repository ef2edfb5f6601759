"""Layers that draw random numbers, and averages, against equinox, flax, haiku and NumPy."""

import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer
from numerics_arrays import assert_close, assert_same_vjp, draw, numpy

KEY = jax.random.key(3)
LIMIT = -1.7580993408473766
"""What SELU approaches far below zero."""


def drawn(place, hyper, x):
    return apply_layer(place, hyper, None, x, training=True, key=KEY)[0]


@pytest.mark.parametrize("axis", [(), (0,), (0, -1)], ids=str)
def test_dropout_has_the_mask_of_flax(axis):
    def ours(x):
        return drawn("nn/dropout", {"rate": 0.3, "broadcast_axis": axis}, x)

    def theirs(x):
        return nn.Dropout(0.3, axis).apply({}, x, deterministic=False, rng=KEY)

    # jax draws other masks where the probability is a float64.
    with jax.enable_x64(False):
        assert_same_vjp(ours, theirs, (draw(0, (3, 4, 5), "float32"),), "float32")


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_has_the_mask_of_equinox(rate):
    theirs = lambda x: eqx.nn.Dropout(rate)(x, key=KEY)  # noqa: E731
    ours = lambda x: drawn("nn/dropout", {"rate": rate}, x)  # noqa: E731
    with jax.enable_x64(False):
        assert_same_vjp(ours, theirs, (draw(0, (3, 4), "float32"),), "float32")


@pytest.mark.parametrize(
    "place", ["dropout", "alpha_dropout", "drop_path", "gaussian_noise"]
)
def test_nothing_happens_at_inference(place, dtype):
    x = draw(0, (3, 4), dtype)
    y, _ = apply_layer(f"nn/{place}", {}, None, x, key=KEY)
    assert_close(y, x, dtype)


@pytest.mark.parametrize(
    ("place", "y"), [("dropout", 0.0), ("drop_path", 0.0), ("alpha_dropout", 0.0)]
)
def test_everything_is_dropped(place, y, dtype):
    x = draw(0, (3, 4), dtype)
    given = drawn(f"nn/{place}", {"rate": 1.0}, x)
    assert_close(given, jnp.full_like(x, y), dtype)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_alpha_dropout(rate, dtype):
    x = draw(0, (40, 50), dtype)
    # The formula of the paper, section "alpha dropout", with the mask of dropout.
    mask = numpy(drawn("nn/dropout", {"rate": rate}, jnp.ones_like(x))) > 0
    q = 1.0 - rate
    a = (q + LIMIT**2 * q * (1.0 - q)) ** -0.5
    b = -a * (1.0 - q) * LIMIT
    y, vjp = jax.vjp(lambda x: drawn("nn/alpha_dropout", {"rate": rate}, x), x)
    assert_close(y, a * np.where(mask, numpy(x), LIMIT) + b, dtype)
    cotangent = draw(1, x.shape, dtype)
    assert_close(vjp(cotangent)[0], a * mask * numpy(cotangent), dtype)
    # Mean 0 and variance 1 are kept.
    many = drawn("nn/alpha_dropout", {"rate": rate}, draw(2, (400, 500), dtype))
    np.testing.assert_allclose(numpy(many).mean(), 0.0, atol=1e-2)
    np.testing.assert_allclose(numpy(many).var(), 1.0, atol=1e-2)


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_drop_path(rate, dtype):
    x = draw(0, (64, 3, 2), dtype)
    y, vjp = jax.vjp(lambda x: drawn("nn/drop_path", {"rate": rate}, x), x)
    kept = np.any(numpy(y) != 0.0, axis=(1, 2))
    assert 0.0 < kept.mean() < 1.0
    factor = kept[:, None, None] / (1.0 - rate)
    assert_close(y, factor * numpy(x), dtype)
    cotangent = draw(1, x.shape, dtype)
    assert_close(vjp(cotangent)[0], factor * numpy(cotangent), dtype)


def test_gaussian_noise(dtype):
    x = draw(0, (3, 4), dtype)
    ours = lambda x: drawn("nn/gaussian_noise", {"std": 0.3}, x)  # noqa: E731
    theirs = lambda x: x + 0.3 * jax.random.normal(KEY, x.shape, dtype)  # noqa: E731
    assert_same_vjp(ours, theirs, (x,), dtype)
    noise = numpy(
        drawn("nn/gaussian_noise", {"std": 0.3}, jnp.zeros((300, 300), dtype))
    )
    np.testing.assert_allclose(noise.std(), 0.3, rtol=1e-2)
    np.testing.assert_allclose(noise.mean(), 0.0, atol=3e-3)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_masks_and_noise_are_fair_in_half_precision(half):
    x = jnp.ones((200, 500), half)
    kept = numpy(drawn("nn/dropout", {"rate": 0.3}, x)) > 0
    np.testing.assert_allclose(kept.mean(), 0.7, atol=5e-3)
    noise = numpy(drawn("nn/gaussian_noise", {"std": 1.0}, jnp.zeros_like(x)))
    np.testing.assert_allclose(noise.std(), 1.0, rtol=2e-2)


@pytest.mark.parametrize("debias", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.9, 0.999])
def test_exponential_moving_average(debias, decay, dtype):
    xs = draw(0, (5, 2, 3), dtype)
    hyper = {"shape": (2, 3), "decay": decay, "debias": debias}
    start = {"average": jnp.zeros((2, 3), dtype), "steps": jnp.int32(0)}

    def ours(xs):
        states, ys = start, []
        for x in xs:
            y, states = apply_layer(
                "nn/exponential_moving_average",
                hyper,
                None,
                x,
                states=states,
                training=True,
            )
            ys.append(y)
        again, kept = apply_layer(
            "nn/exponential_moving_average", hyper, None, xs[0], states=states
        )
        return jnp.stack([*ys, again]), states, kept

    y, states, kept = jax.jit(ours)(xs)
    assert int(states["steps"]) == 5
    assert_close(kept["average"], states["average"], dtype)

    @hk.transform_with_state
    def module(x):
        return hk.ExponentialMovingAverage(decay, zero_debias=debias)(x)

    _, state = module.init(KEY, xs[0])
    expected = []
    for x in xs:
        value, state = module.apply({}, state, KEY, x)
        expected.append(value)
    assert_close(y, jnp.stack([*expected, expected[-1]]).astype(dtype), dtype)

    average = np.zeros((2, 3))
    for step, x in enumerate(numpy(xs), start=1):
        average = decay * average + (1.0 - decay) * x
        wanted = average / (1.0 - decay**step) if debias else average
        assert_close(y[step - 1], wanted, dtype)
    assert_close(states["average"], average, dtype)


def test_an_average_before_the_first_step_is_zero(dtype):
    start = {"average": jnp.zeros((3,), dtype), "steps": jnp.int32(0)}
    y, _ = apply_layer(
        "nn/exponential_moving_average",
        {"shape": (3,)},
        None,
        draw(0, (3,), dtype),
        states=start,
    )
    assert_close(y, jnp.zeros(3), dtype)


def test_an_average_in_half_precision_does_not_stall():
    start = {"average": jnp.zeros((), jnp.float32), "steps": jnp.int32(0)}
    x = jnp.ones((), jnp.bfloat16)

    @jax.jit
    def train(states):
        def step(states, _):
            y, states = apply_layer(
                "nn/exponential_moving_average",
                {},
                None,
                x,
                states=states,
                training=True,
            )
            return states, y

        return jax.lax.scan(step, states, None, length=3000)

    states, ys = train(start)
    np.testing.assert_allclose(states["average"], 1.0 - 0.999**3000, rtol=1e-4)
    np.testing.assert_allclose(np.asarray(ys, np.float64), 1.0, rtol=2e-2)
