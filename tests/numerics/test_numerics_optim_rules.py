"""Where steps stop, what counts as an improvement, how far counters count, how sums are rounded."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
import pytest

from mlax import optim

LARGEST = np.iinfo(np.int32).max


@pytest.fixture(autouse=True)
def _float32() -> Iterator[None]:
    """Scalars have 32 bits, as they have unless one asks for 64."""
    with jax.enable_x64(False):
        yield


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (optim.PolyakSgd.init, optax.polyak_sgd),
        (optim.Momo.init, optax.contrib.momo),
        (optim.MomoAdam.init, optax.contrib.momo_adam),
    ],
    ids=["PolyakSgd", "Momo", "MomoAdam"],
)
def test_steps_go_on_as_far_as_those_of_optax(ours, theirs):
    """On |w|^2, whose gradients become as small as the weights."""
    for size in (1.0, 1e-3, 1e-5, 1e-7, 1e-9):
        weights = jnp.asarray([3.0, -4.0], "float32") * size
        value, gradients = jnp.vdot(weights, weights), 2.0 * weights
        state, hyperparams = ours(weights)
        actual, _ = hyperparams.apply(gradients, state, weights, value=value)
        transformation = theirs()
        state = transformation.init(weights)
        expected, _ = transformation.update(gradients, state, weights, value=value)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, err_msg=str(size))


@pytest.mark.parametrize(
    ("losses", "scale"),
    [
        ([10.0, 9.75, 9.0], 0.5),
        ([10.0, 9.0], 1.0),
        ([-10.0, -9.75], 0.5),
        ([-10.0, -10.25], 0.5),
        ([-10.0, -11.0], 1.0),
        ([0.5, -0.5], 1.0),
        ([0.0, 0.5], 0.5),
    ],
)
def test_an_improvement_is_a_loss_that_is_less_by_the_relative_threshold(losses, scale):
    """Of either sign: 0.05 of -10 is 0.5."""
    weights = jnp.ones((2,))
    state, hyperparams = optim.ReduceOnPlateau.init(
        weights, factor=0.5, patience=1, rtol=0.05
    )
    for loss in losses:
        _, state = hyperparams.apply(weights, state, weights, value=jnp.asarray(loss))
        if loss == losses[1]:
            assert state.scale == scale


def lookahead(weights: Any) -> tuple[Any, Any]:
    return optim.Lookahead.init(weights, optim.Sgd.init(weights, 0.1), period=6)


def sophia(weights: Any) -> tuple[Any, Any]:
    return optim.Sophia.init(weights, 0.1, update_interval=6)


def galore(weights: Any) -> tuple[Any, Any]:
    return optim.Galore.init(weights, 0.1, rank=1, update_proj_gap=6)


@pytest.mark.parametrize("start", [0, 2**24 - 5, 2**26, LARGEST - 13])
@pytest.mark.parametrize(
    ("make", "field", "first"),
    [(lookahead, "slow", 0), (sophia, "curvature", 1), (galore, "projection", 1)],
    ids=["Lookahead", "Sophia", "Galore"],
)
def test_periods_count_every_step(make, field, first, start):
    """However many there were: float32 counts no further than 2**24."""
    weights = jnp.asarray([[1.0, 2.0], [3.0, -4.0]])
    state, hyperparams = make(weights)
    state = state._replace(step=jnp.asarray(start, jnp.int32))

    def value_and_gradients(w: Any) -> Any:
        return jax.value_and_grad(lambda w: jnp.sum(w**4))(w)

    @jax.jit
    def step(gradients: Any, state: Any) -> Any:
        _, new = hyperparams.apply(
            gradients,
            state,
            weights,
            value_and_gradients=value_and_gradients,
            key=jax.random.key(0),
        )
        return new

    changed = []
    for number in range(start + 1, start + 14):
        gradients = jnp.asarray([[1.0, number % 7], [-number % 5, 2.0]])
        new = step(gradients, state)
        if np.any(getattr(new, field) != getattr(state, field)):
            changed.append(number)
        state = new
    numbers = range(start + 1, start + 14)
    assert changed == [n for n in numbers if n % 6 == first]


def test_counters_stay_at_the_largest_number():
    weights = jnp.ones((2,))
    adam, hyperparams = optim.Adam.init(weights, 0.1)
    adam = adam._replace(step=jnp.asarray(LARGEST, jnp.int32))
    updates, adam = hyperparams.apply(weights, adam, weights)
    assert adam.step == LARGEST
    assert np.all(np.isfinite(updates))
    largest = jnp.asarray(LARGEST, jnp.int32)
    infinite = jnp.full((2,), jnp.inf)
    state, hyperparams = optim.ApplyIfFinite.init(optim.Sgd.init(weights, 0.1))
    state = state._replace(errors=largest, total=largest)
    _, state = hyperparams.apply(infinite, state, weights)
    assert (state.errors, state.total) == (LARGEST, LARGEST)
    state, hyperparams = optim.SkipLargeUpdates.init(optim.Sgd.init(weights, 0.1), 1.0)
    _, state = hyperparams.apply(infinite, state._replace(skipped=largest), weights)
    assert state.skipped == LARGEST


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights and updates of all signs, in all ratios, up to the ends of the range."""
    generator = np.random.default_rng(0)
    info = jnp.finfo(dtype)
    least = info.minexp - info.nmant
    weights = np.arange(-3, 3)
    ratios = np.arange(-info.nmant - 4, info.nmant + 4)
    bases = np.asarray([least + 2, 0.5 * least, 0, 8, info.maxexp - 5])
    grid = np.meshgrid(bases, weights, ratios, [-1, 1], [-1, 1], np.arange(2))
    base, exponent, ratio, sign, other, _ = (part.ravel() for part in grid)
    mantissa = generator.uniform(1, 2, (2, base.size))
    w = sign * mantissa[0] * 2.0 ** np.floor(base + exponent)
    u = other * mantissa[1] * 2.0 ** np.floor(base + exponent + ratio)
    largest = float(info.max) / 2
    w, u = (np.clip(x, -largest, largest) for x in (w, u))
    return w.astype(jnp.dtype(dtype)), u.astype(jnp.dtype(dtype))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_stochastic_rounding_has_no_bias(dtype):
    """The mean over many draws is the exact sum, for weights and updates of any size."""
    draws = 1024
    w, u = pairs(dtype)
    exact = w.astype(np.float64) + u.astype(np.float64)
    shape = (draws, w.size)
    weights, gradients = (jnp.broadcast_to(x, shape) for x in (w, u))
    state, hyperparams = optim.StochasticRounding.init(weights)

    @jax.jit
    def run(gradients: Any, weights: Any) -> Any:
        key = jax.random.key(0)
        updates, _ = hyperparams.apply(gradients, state, weights, key=key)
        return optim.apply_updates(weights, updates)

    found = np.asarray(run(gradients, weights), np.float64)
    assert np.all(np.isfinite(found))
    low, high = found.min(0), found.max(0)
    # The two that are drawn are next to each other but for the reach of the update.
    unit = np.abs(np.spacing(exact.astype(jnp.dtype(dtype))).astype(np.float64))
    assert np.all(high - low <= 2.0 * unit)
    gap = np.where(high > low, high - low, unit)
    share = np.clip((exact - low) / gap, 0.0, 1.0)
    error = (found.mean(0) - exact) / gap
    deviation = np.sqrt((share * (1.0 - share) + 1e-3) / draws)
    # Processors may take numbers below the normal ones for zero: bfloat16 has the range
    # of the dtype of the sum, and so a weight and an update may be off by one of them.
    flushed = 2.0 * jnp.finfo("float32").tiny if dtype == "bfloat16" else 0.0
    error = np.where(np.abs(error * gap) <= flushed, 0.0, error)
    assert np.all(np.abs(error) < 5.5 * deviation)
    assert abs(error.mean()) < 5.0 * np.sqrt(np.mean(deviation**2) / error.size)
