"""Optimizers that wrap, measure and bound others, against optax."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
import pytest
from numerics_optimizers import falling
from numerics_steps import Pair, assert_parity

from mlax import optim

THEIR_ADAM = optax.adam(0.1, eps=1e-4)


def adam(weights: Any) -> Any:
    return optim.Adam.init(weights, 0.1, epsilon=1e-4)


def matrices(path: str, weight: Any) -> bool:
    return weight.ndim == 2


def matrices_of(weights: Any) -> Any:
    return jax.tree.map(lambda weight: weight.ndim == 2, weights)


def each_third(step: Any, **inputs: Any) -> Any:
    return step % 3 == 0


def box(weight: Any) -> Any:
    return optax.projections.projection_box(weight, -0.05, 0.1)


def projected(transformation: Any, projection: Any) -> Any:
    """A transformation of optax whose weights are projected by hand after each step."""

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        updates, state = transformation.update(updates, state, params)
        return jax.tree.map(lambda w, u: projection(w + u) - w, params, updates), state

    return optax.GradientTransformation(transformation.init, update)


def with_errors(number: Any, gradients: Any) -> Any:
    wrong = number % 7 == 3
    return jax.tree.map(
        lambda g: jnp.where(wrong, jnp.full_like(g, jnp.nan), g), gradients
    )


def with_outliers(number: Any, gradients: Any) -> Any:
    return jax.tree.map(lambda g: jnp.where(number % 5 == 1, 1e3 * g, g), gradients)


def theirs_in_steps(every: int, **options: Any) -> Any:
    steps = optax.MultiSteps(
        THEIR_ADAM, every, accumulator_dtype=jnp.float64, **options
    )
    return steps.gradient_transformation()


PAIRS = (
    Pair(
        "conditionally",
        lambda w: optim.Chain.init(
            [
                optim.Conditionally.init(adam(w), each_third),
                optim.Sgd.init(w, 0.5, 0.9),
            ]
        ),
        lambda: optax.chain(
            optax.conditionally_transform(THEIR_ADAM, each_third), optax.sgd(0.5, 0.9)
        ),
    ),
    Pair(
        "conditionally_else_zero",
        lambda w: optim.Conditionally.init(adam(w), each_third, "zero"),
        lambda: optax.conditionally_mask(THEIR_ADAM, each_third),
    ),
    Pair(
        "keep_non_negative",
        lambda w: optim.Chain.init([adam(w), optim.KeepNonNegative.init(w)]),
        lambda: optax.chain(THEIR_ADAM, optax.keep_params_nonnegative()),
    ),
    Pair(
        "project",
        lambda w: optim.Chain.init([adam(w), optim.Project.init(w, box)]),
        lambda: projected(THEIR_ADAM, box),
    ),
    Pair(
        "normalize",
        lambda w: optim.Chain.init(
            [optim.Normalize.init(w, 0.3, 1e-3), optim.Sgd.init(w, 0.1)]
        ),
        lambda: optax.chain(optax.normalize_by_update_norm(0.3, 1e-3), optax.sgd(0.1)),
    ),
    Pair(
        "scale",
        lambda w: optim.Chain.init(
            [optim.Scale.init(w, -2.0), optim.Scale.init(w, falling)]
        ),
        lambda: optax.chain(optax.scale(-2.0), optax.scale_by_schedule(falling)),
    ),
    Pair(
        "zero_nans",
        lambda w: optim.Chain.init([optim.ZeroNans.init(w), adam(w)]),
        lambda: optax.chain(optax.zero_nans(), THEIR_ADAM),
        change=with_errors,
    ),
    Pair(
        "accumulate_a_sum",
        lambda w: optim.Accumulate.init(w, adam(w), 3, use_mean=False),
        lambda: theirs_in_steps(3, use_grad_mean=False),
    ),
    Pair(
        "accumulate_what_is_finite",
        lambda w: optim.Accumulate.init(w, adam(w), 3, skip_not_finite=True),
        lambda: theirs_in_steps(3, should_skip_update_fn=optax.skip_not_finite),
        change=with_errors,
    ),
    Pair(
        "accumulate_what_is_small",
        lambda w: optim.Accumulate.init(w, adam(w), 2, skip_above=50.0),
        lambda: theirs_in_steps(
            2,
            should_skip_update_fn=lambda *given: optax.skip_large_updates(
                *given, max_squared_norm=2500.0
            ),
        ),
        change=with_outliers,
    ),
    Pair(
        "adopt_of_a_bound",
        lambda w: optim.ADOPT.init(w, 0.1, bound=falling),
        lambda: optax.contrib.adopt(0.1, clip_value_fn=falling),
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_takes_the_steps_of_optax(pair):
    assert_parity(pair)


def run(
    optimizer: Any, steps: int = 7, weights: Any = None
) -> tuple[list[Any], Any, Any]:
    """The weights after each step along gradients that are twice the weights."""
    weights = {"a": jnp.array([1.0, -2.0]), "b": jnp.array(3.0)}
    state, hyperparams = optimizer(weights)
    taken = []
    for _ in range(steps):
        grads = jax.tree.map(lambda w: 2.0 * w, weights)
        updates, state = hyperparams.apply(grads, state, weights)
        weights = optim.apply_updates(weights, updates)
        taken.append(weights)
    return taken, state, hyperparams


def assert_close(ours: Any, theirs: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), ours, theirs)


def test_the_average_of_weights_is_that_of_incremental_updates():
    taken, state, hyperparams = run(
        lambda w: optim.AverageWeights.init(w, optim.Sgd.init(w, 0.1), 0.75)
    )
    expected: Any = {"a": jnp.array([1.0, -2.0]), "b": jnp.array(3.0)}
    for weights in taken:
        expected = optax.incremental_update(weights, expected, 0.25)
    assert_close(hyperparams.evaluation_weights(state, taken[-1]), expected)


@pytest.mark.parametrize("begin", [0, 3])
def test_without_a_decay_it_is_the_mean_of_all_weights_from_a_step_on(begin):
    taken, state, hyperparams = run(
        lambda w: optim.AverageWeights.init(
            w, optim.Sgd.init(w, 0.1), None, begin=begin
        )
    )
    expected = jax.tree.map(lambda *w: jnp.mean(jnp.stack(w), 0), *taken[begin:])
    assert_close(hyperparams.evaluation_weights(state, taken[-1]), expected)


def test_until_it_begins_the_average_is_the_weights():
    taken, state, hyperparams = run(
        lambda w: optim.AverageWeights.init(w, optim.Sgd.init(w, 0.1), 0.9, begin=5),
        steps=5,
    )
    assert_close(hyperparams.evaluation_weights(state, taken[-1]), taken[-1])


def test_the_average_of_weights_of_16_bits_follows_them():
    weights = {"w": jnp.full((64,), 1.0, jnp.bfloat16)}
    state, hyperparams = optim.AverageWeights.init(
        weights, optim.Sgd.init(weights, 1.0), 0.999
    )
    state = state._replace(average={"w": jnp.zeros((64,), jnp.bfloat16)})
    step = jax.jit(hyperparams.apply)
    for _ in range(1000):
        _, state = step({"w": jnp.zeros((64,), jnp.bfloat16)}, state, weights)
    average = hyperparams.evaluation_weights(state, weights)["w"]
    assert average.dtype == jnp.bfloat16
    np.testing.assert_allclose(np.float32(average), 1 - 0.999**1000, rtol=0.05)


def large(update: Any) -> Any:
    return jnp.abs(update) > 1.5


@pytest.mark.parametrize("decay", [0.0, 0.9])
def test_a_monitor_measures_as_optax_does(decay):
    def measure(updates: Any) -> Any:
        return jax.tree.map(lambda u: jnp.mean(large(u).astype(u.dtype)), updates)

    measured = optax.measure_with_ema(measure, decay) if decay else measure
    theirs = optax.chain(optax.monitor({"large": measured}), optax.sgd(0.1))
    weights = {"a": jnp.array([1.0, -2.0]), "b": jnp.array(3.0)}
    their_state = theirs.init(weights)
    for _ in range(7):
        grads = jax.tree.map(lambda w: 2.0 * w, weights)
        updates, their_state = theirs.update(grads, their_state, weights)
        weights = optax.apply_updates(weights, updates)
    taken, state, _ = run(
        lambda w: optim.Chain.init(
            [optim.Monitor.init(w, large, decay), optim.Sgd.init(w, 0.1)]
        )
    )
    assert_close(
        state.transformations[0].measured, optax.tree.get(their_state, "large")
    )
    assert_close(taken[-1], weights)


def test_a_snapshot_has_what_optax_measures():
    weights = {"x": jnp.array([1.0, -2.0, 0.5]), "y": jnp.array([[3.0]])}
    state, hyperparams = optim.named_chain(
        {
            "momentum": optim.Sgd.init(weights, 0.1, 0.9),
            "before": optim.Snapshot.init(weights),
            "clip": optim.ClipByGlobalNorm.init(weights, 0.05),
        }
    )
    theirs = optax.chain(
        optax.sgd(0.1, 0.9),
        optax.transforms.snapshot("norm", optax.tree.norm),
        optax.clip_by_global_norm(0.05),
    )
    other = theirs.init(weights)
    for number in range(1, 4):
        gradients = jax.tree.map(lambda w, n=number: n * w, weights)
        updates, state = hyperparams.apply(gradients, state, weights)
        expected, other = theirs.update(gradients, other)
        jax.tree.map(np.testing.assert_allclose, updates, expected)
        measured = optax.tree.norm(state["before"].updates)
        np.testing.assert_allclose(measured, optax.tree.get(other, "norm"))
        assert measured > 0.05


def test_noise_has_the_variance_that_it_is_said_to_have():
    weights = {"w": jnp.zeros((10_000,))}
    state, hyperparams = optim.AddNoise.init(weights, eta=0.04, gamma=0.5)
    deviations = []
    for key in jax.random.split(jax.random.key(0), 4):
        noise, state = hyperparams.apply(weights, state, weights, key=key)
        deviations.append(jnp.std(noise["w"]))
    expected = [(0.04 / t**0.5) ** 0.5 for t in (1, 2, 3, 4)]
    np.testing.assert_allclose(deviations, expected, rtol=0.03)


def test_zero_nans_tells_where_they_were():
    weights = {"a": jnp.ones(2), "b": jnp.ones(2)}
    state, hyperparams = optim.ZeroNans.init(weights)
    grads = {"a": jnp.array([jnp.nan, 2.0]), "b": jnp.array([jnp.inf, 1.0])}
    updates, state = hyperparams.apply(grads, state, weights)
    assert state.found == {"a": True, "b": False}
    assert_close(updates, {"a": jnp.array([0.0, 2.0]), "b": grads["b"]})
