"""What moments and weights of 16 bits can hold."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax import optim

HALF = ("bfloat16", "float16")


def scan(hyperparams: Any, weights: Any, state: Any, gradients: Any, **inputs: Any):
    """Weights and state after a step for each of the gradients."""

    def body(carry: Any, given: Any) -> Any:
        weights, state = carry
        number, gradients = given
        keys = {"key": jax.random.fold_in(inputs["key"], number)} if inputs else {}
        updates, state = hyperparams.apply(gradients, state, weights, **keys)
        return (optim.apply_updates(weights, updates), state), None

    numbers = jnp.arange(len(jax.tree.leaves(gradients)[0]))

    @jax.jit
    def run(weights: Any, state: Any) -> Any:
        return jax.lax.scan(body, (weights, state), (numbers, gradients))[0]

    return run(weights, state)


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", ["Adam", "AdamW", "Ema"])
def test_averages_decay_as_slowly_as_they_should(name, dtype):
    """Rounding to nearest would keep them where they are: 1 - 0.001 is 1 in bfloat16."""
    weights = jnp.ones((3,), dtype)
    if name == "Ema":
        state, hyperparams = optim.Ema.init(weights, 0.999)
        field = "average"
    else:
        state, hyperparams = getattr(optim, name).init(weights, 1e-3)
        field = "square"
    state = state._replace(**{field: jnp.asarray([1.0, 0.3, 7.0], dtype)})
    zero = jnp.zeros((1000, 3), dtype)
    _, state = scan(hyperparams, weights, state, zero)
    expected = 0.999**1000 * np.asarray([1.0, 0.3, 7.0])
    actual = np.asarray(getattr(state, field), np.float64)
    np.testing.assert_allclose(actual, expected, rtol=0.02)


@pytest.mark.parametrize(
    ("name", "decay", "fields"),
    [
        ("ADOPT", {"b2": 0.999}, ["square"]),
        ("Adan", {"b3": 0.999}, ["square"]),
        ("AdaDelta", {"decay": 0.999}, ["square", "step_square"]),
    ],
)
def test_averages_of_other_optimizers_fall_in_bfloat16(name, decay, fields):
    weights = jnp.ones((3,), "bfloat16")
    state, hyperparams = getattr(optim, name).init(weights, learning_rate=0.0, **decay)
    start = jnp.asarray([1.0, 0.3, 7.0], "bfloat16")
    state = state._replace(step=state.step + 1, **dict.fromkeys(fields, start))
    _, state = scan(hyperparams, weights, state, jnp.zeros((1000, 3), "bfloat16"))
    expected = 0.999**1000 * np.asarray([1.0, 0.3, 7.0])
    for field in fields:
        actual = np.asarray(getattr(state, field), np.float64)
        np.testing.assert_allclose(actual, expected, rtol=0.02)


def test_the_average_of_yogi_rises_in_bfloat16():
    """By a thousandth of the squares of the gradients, for each of 1000 steps."""
    weights = jnp.ones((3,), "bfloat16")
    state, hyperparams = optim.Yogi.init(weights, 0.0)
    state = state._replace(square=jnp.full((3,), 8.0, "bfloat16"))
    gradients = jnp.ones((1000, 3), "bfloat16")
    _, state = scan(hyperparams, weights, state, gradients)
    np.testing.assert_allclose(np.asarray(state.square, np.float64), 7.0, rtol=0.02)


KEEP_SQUARES = (
    *("AcProp", "AdEMAMix", "AdaBelief", "AdaDelta", "Adafactor", "Adam", "AdamW"),
    *("ADOPT", "AMSGrad", "Adan", "DAdaptAdamW", "Galore", "LAMB", "Muon", "NAdam"),
    *("NAdamW", "NovoGrad", "OptimisticAdam", "Prodigy", "RAdam", "RMSProp"),
    *("SimplifiedAdEMAMix", "Yogi"),
)


@pytest.mark.parametrize("name", KEEP_SQUARES)
def test_squares_that_overflow_leave_no_nan(name):
    """3e4 squared is infinite in float16, and the difference of infinities is NaN."""
    weights = jnp.asarray([[0.5, -1.0, 2.0], [1.0, 3.0, -0.25]], "float16")
    wide = {"moment_dtype": "float32"} if name in ("DAdaptAdamW", "Prodigy") else {}
    state, hyperparams = getattr(optim, name).init(weights, learning_rate=0.1, **wide)
    step = jax.jit(hyperparams.apply)
    for before, size in ((0.0, 1e3), (3e4, 1.0)):
        given = state
        for scale in (before, size, 1.0):
            gradients = jnp.asarray(scale, "float16") * jnp.sign(weights)
            updates, given = step(gradients, given, weights)
            for leaf in jax.tree.leaves((updates, given)):
                assert np.all(np.isfinite(np.asarray(leaf, np.float64))), (scale, leaf)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    kernel: jax.Array
    bias: jax.Array


def test_weights_in_a_dataclass_and_a_state_of_others():
    weights = {"layer": Layer(jnp.ones((2, 3)), jnp.zeros((3,)))}
    state, hyperparams = optim.Adam.init(weights, 0.1)
    updates, state = hyperparams.apply(weights, state, weights)
    assert isinstance(updates["layer"], Layer)
    np.testing.assert_allclose(updates["layer"].kernel, -0.1, rtol=1e-5)
    others = weights | {"head": jnp.ones((4,))}
    with pytest.raises(ValueError, match=r"state.mean .* differ at head"):
        hyperparams.apply(others, state, others)


@pytest.mark.parametrize("dtype", HALF)
def test_averages_of_noise_find_its_mean(dtype):
    """The second moment of standard normal gradients is one."""
    weights = jnp.zeros((64,), dtype)
    state, hyperparams = optim.Adam.init(weights, 0.0, b2=0.999)
    gradients = jax.random.normal(jax.random.key(0), (8000, 64), dtype)
    _, state = scan(hyperparams, weights, state, gradients)
    wide, wide_hyperparams = optim.Adam.init(weights.astype("float32"), 0.0)
    _, wide = scan(
        wide_hyperparams, weights.astype("float32"), wide, gradients.astype("float32")
    )
    ratio = np.asarray(state.square, np.float64) / np.asarray(wide.square)
    # The errors of rounding are those of a walk of steps of a unit: without a bias.
    assert abs(ratio.mean() - 1.0) < 0.02
    assert ratio.std() < (0.08 if dtype == "bfloat16" else 0.01)


@pytest.mark.parametrize("dtype", HALF)
def test_moments_in_float32_are_those_of_float32_weights(dtype):
    weights = jnp.ones((5,), dtype)
    gradients = jax.random.normal(jax.random.key(0), (300, 5), dtype)
    state, hyperparams = optim.Adam.init(weights, 1e-3, moment_dtype="float32")
    half, state = scan(hyperparams, weights, state, gradients)
    wide, hyperparams = optim.Adam.init(weights.astype("float32"), 1e-3)
    _, wide = scan(
        hyperparams, weights.astype("float32"), wide, gradients.astype("float32")
    )
    assert half.dtype == dtype
    for name in ("mean", "square"):
        actual, expected = getattr(state, name), getattr(wide, name)
        assert actual.dtype == jnp.float32
        np.testing.assert_allclose(actual, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", HALF)
def test_stochastic_rounding_moves_weights_by_less_than_a_unit(dtype):
    steps, size = 400, 4096
    unit = float(jnp.finfo(dtype).eps)
    weights = jnp.ones((size,), dtype)
    gradients = jnp.full((steps, size), -unit / 50.0, dtype)

    def moved(*rounding: Any) -> np.ndarray:
        chain = [optim.Sgd.init(weights, 1.0), *rounding]
        state, hyperparams = optim.Chain.init(chain)
        new, _ = scan(hyperparams, weights, state, gradients, key=jax.random.key(1))
        return (np.asarray(new, np.float64) - 1.0) / unit

    assert np.all(moved() == 0.0)
    actual = moved(optim.StochasticRounding.init(weights))
    # Each weight makes steps of a unit with the probability 1/50: the mean is 8.
    deviation = np.sqrt(steps / 50.0 / size)
    assert abs(actual.mean() - steps / 50.0) < 5.0 * deviation
    assert actual.std() > 1.0


def test_loss_scaling_skips_and_recovers():
    weights = jnp.ones((3,), jnp.float16)
    inner = optim.Sgd.init(weights, 0.5)
    state, hyperparams = optim.DynamicLossScaling.init(
        inner, initial_scale=1024, period=2
    )
    step = jax.jit(lambda g, s: hyperparams.apply(g, s, weights))
    updates, state = step(jnp.full((3,), 512.0, jnp.float16), state)
    np.testing.assert_array_equal(updates, jnp.full((3,), -0.25, jnp.float16))
    assert float(state.scale) == 1024.0
    updates, state = step(jnp.full((3,), jnp.inf, jnp.float16), state)
    np.testing.assert_array_equal(updates, jnp.zeros(3, jnp.float16))
    assert float(state.scale) == 512.0
    assert int(state.good) == 0
    for _ in range(2):
        updates, state = step(jnp.full((3,), 512.0, jnp.float16), state)
    np.testing.assert_array_equal(updates, jnp.full((3,), -0.5, jnp.float16))
    assert float(state.scale) == 1024.0


def test_loss_scaling_refuses_to_round_what_it_widens():
    weights = {"kernel": jnp.ones((3,), jnp.float16)}
    sgd, rounding = optim.Sgd.init(weights, 1.0), optim.StochasticRounding.init(weights)
    inside = optim.Chain.init([sgd, rounding])
    for inner in (rounding, inside, optim.Lookahead.init(weights, inside, 2)):
        with pytest.raises(ValueError, match="put it after this one, as the last of a"):
            optim.DynamicLossScaling.init(inner)
    after = [optim.DynamicLossScaling.init(sgd), rounding]
    state, hyperparams = optim.Chain.init(after)
    scale = state.transformations[0].scale.astype("float16")
    gradients = {"kernel": jnp.full((3,), 1e-4, "float16") * scale}
    moved = set()
    for i in range(16):
        updates, _ = hyperparams.apply(gradients, state, weights, key=jax.random.key(i))
        new = optim.apply_updates(weights, updates)["kernel"]
        moved |= set(np.asarray(new, float).tolist())
    assert moved == {1.0, 1.0 - 2.0**-11}


def test_large_updates_are_skipped():
    weights = jnp.ones((4,))
    state, hyperparams = optim.SkipLargeUpdates.init(optim.Adam.init(weights, 0.1), 2.1)
    kept, state = hyperparams.apply(jnp.ones(4), state, weights)
    skipped, state = hyperparams.apply(2.0 * jnp.ones(4), state, weights)
    assert np.all(np.asarray(kept) < 0.0)
    assert np.all(np.asarray(skipped) == 0.0)
    assert int(state.skipped) == 1
    assert int(state.optimizer.step) == 1


def test_lookahead_goes_back_to_the_slow_weights():
    weights = jnp.zeros((2,))
    state, hyperparams = optim.Lookahead.init(weights, optim.Sgd.init(weights, 1.0), 3)
    seen = []
    for _ in range(6):
        updates, state = hyperparams.apply(-jnp.ones(2), state, weights)
        weights = optim.apply_updates(weights, updates)
        seen.append(float(weights[0]))
    assert seen == [1.0, 2.0, 1.5, 2.5, 3.5, 3.0]
    assert float(state.slow[0]) == 3.0


def test_evaluation_weights_are_the_average():
    weights = jnp.zeros((2,))
    state, hyperparams = optim.ScheduleFree.init(
        weights, optim.Sgd.init(weights, 1.0), 1.0
    )
    points = []
    for _ in range(4):
        updates, state = hyperparams.apply(-jnp.ones(2), state, weights)
        weights = optim.apply_updates(weights, updates)
        points.append(float(state.z[0]))
    average = hyperparams.evaluation_weights(state, weights)
    np.testing.assert_allclose(average, np.mean(points), rtol=1e-6)


def test_the_learning_rate_of_the_state_changes_without_tracing():
    weights = jnp.ones((2,))
    state, hyperparams = optim.Chain.init(
        [optim.Sgd.init(weights, 1.0), optim.LearningRate.init(weights, 0.5)]
    )
    traced = []

    @jax.jit
    def step(state: Any) -> Any:
        traced.append(state)
        return hyperparams.apply(jnp.ones(2), state, weights)[0]

    assert float(step(state)[0]) == -0.5
    sgd, rate = state.transformations
    changed = state._replace(
        transformations=(sgd, rate._replace(rate=jnp.full_like(rate.rate, 0.25)))
    )
    assert float(step(changed)[0]) == -0.25
    assert len(traced) == 1
