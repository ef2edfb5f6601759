"""Optimizers against optax: many steps on the same gradients."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numerics_adapter import init_optimizer, schedule, step_optimizer
from numerics_arrays import assert_close, draw

STEPS = 100
DECAY = {"init_value": 0.1, "decay_steps": 60, "alpha": 0.1}


def cosine(step: Any) -> Any:
    return optax.cosine_decay_schedule(0.1, 60, alpha=0.1)(step)


def factored_rms(exponent: float) -> Any:
    """The first part of optax.adafactor, with its decay computed in float64."""
    return optax.scale_by_factored_rms(
        decay_rate=exponent,
        min_dim_size_to_factor=3,
        decay_rate_fn=lambda t, rate: (
            1.0 - jnp.asarray(t + 1, "float64") ** (-1.0 * rate)
        ),
    )


CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("sgd", {"learning_rate": 0.1}, lambda: optax.sgd(0.1)),
    (
        "sgd",
        {"learning_rate": 0.1, "momentum": 0.9},
        lambda: optax.sgd(0.1, momentum=0.9),
    ),
    (
        "sgd",
        {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True},
        lambda: optax.sgd(0.1, momentum=0.9, nesterov=True),
    ),
    (
        "adam",
        {"learning_rate": 0.01, "b1": 0.8, "b2": 0.99, "epsilon": 1e-6},
        lambda: optax.adam(0.01, 0.8, 0.99, 1e-6),
    ),
    (
        "adam",
        {"learning_rate": 0.01, "b1": 0.0, "epsilon_root": 1e-3},
        lambda: optax.adam(0.01, b1=0.0, eps_root=1e-3),
    ),
    (
        "adam_w",
        {"learning_rate": 0.01, "weight_decay": 0.1},
        lambda: optax.adamw(0.01, weight_decay=0.1),
    ),
    (
        "adafactor",
        {"learning_rate": 0.1, "min_factored_size": 3},
        lambda: optax.chain(
            factored_rms(0.8),
            optax.clip_by_block_rms(1.0),
            optax.scale_by_param_block_rms(),
            optax.scale(-0.1),
        ),
    ),
    (
        "adafactor",
        {
            "learning_rate": 0.1,
            "min_factored_size": 3,
            "scale_by_weight": False,
            "clipping_threshold": None,
            "momentum": 0.9,
            "weight_decay": 0.01,
            "decay_exponent": 0.7,
        },
        lambda: optax.chain(
            factored_rms(0.7),
            optax.scale(0.1),
            optax.ema(0.9, debias=False),
            optax.add_decayed_weights(0.01),
            optax.scale(-1.0),
        ),
    ),
    ("clip_by_global_norm", {"max_norm": 2.0}, lambda: optax.clip_by_global_norm(2.0)),
]


def draw_weights(dtype: Any) -> dict[str, jax.Array]:
    return {
        "matrix": draw(0, (5, 4), dtype),
        "wide": draw(1, (3, 2, 7), dtype),
        "bias": draw(2, (4,), dtype),
        "scalar": draw(3, (), dtype),
    }


def run_both(state, hyperparams, reference, dtype, steps=STEPS):
    """Takes the same steps with both, and compares every update and the weights."""
    weights = expected_weights = draw_weights(dtype)
    expected_state = reference.init(weights)
    names = sorted(weights)
    reference_update = jax.jit(reference.update)
    update = jax.jit(lambda g, s, w: step_optimizer(hyperparams, g, s, w))
    for step in range(steps):
        gradients = {
            name: draw(1000 * step + i, weights[name].shape, dtype)
            for i, name in enumerate(names)
        }
        updates, state = update(gradients, state, weights)
        expected, expected_state = reference_update(
            gradients, expected_state, expected_weights
        )
        weights = jax.tree.map(jnp.add, weights, updates)
        expected_weights = optax.apply_updates(expected_weights, expected)
        assert_close(updates, expected, dtype)
    assert_close(weights, expected_weights, dtype)


@pytest.mark.parametrize(
    ("name", "hyperparameters", "make"), CASES, ids=lambda v: str(v)[:24]
)
def test_steps_are_those_of_optax_in_float64(name, hyperparameters, make):
    state, hyperparams = init_optimizer(
        f"optim/{name}", hyperparameters, draw_weights("float64")
    )
    run_both(state, hyperparams, make(), "float64")


def test_a_schedule_is_called_with_the_steps_before():
    rate = schedule("schedule/cosine", **DECAY)
    state, hyperparams = init_optimizer(
        "optim/adam", {"learning_rate": rate}, draw_weights("float64")
    )
    run_both(state, hyperparams, optax.adam(cosine), "float64")


def test_chain_runs_its_optimizers_in_order():
    weights = draw_weights("float64")
    chain = (
        init_optimizer("optim/clip_by_global_norm", {"max_norm": 1.0}, weights),
        init_optimizer("optim/adam", {"learning_rate": 0.01}, weights),
    )
    state, hyperparams = init_optimizer(
        "optim/chain", {"transformations": chain}, weights
    )
    reference = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.01))
    run_both(state, hyperparams, reference, "float64")


@pytest.mark.parametrize(
    ("name", "hyperparameters"),
    [(name, hyperparameters) for name, hyperparameters, _ in CASES],
    ids=lambda v: str(v)[:24],
)
def test_float32_follows_float64(name, hyperparameters):
    runs, updates, step = {}, None, jax.jit(step_optimizer)
    for dtype in ("float32", "float64"):
        weights = draw_weights(dtype)
        state, hyperparams = init_optimizer(f"optim/{name}", hyperparameters, weights)
        for number in range(20):
            gradients = {
                n: draw(1000 * number + i, w.shape, dtype)
                for i, (n, w) in enumerate(sorted(weights.items()))
            }
            updates, state = step(hyperparams, gradients, state, weights)
        runs[dtype] = updates
    assert_close(runs["float32"], runs["float64"], "float32")


def test_half_precision_weights_with_float32_moments():
    weights = draw_weights("bfloat16")
    state, hyperparams = init_optimizer(
        "optim/adam", {"learning_rate": 0.01, "moment_dtype": "float32"}, weights
    )
    step = jax.jit(step_optimizer)
    updates, state = step(hyperparams, weights, state, weights)
    assert {u.dtype for u in jax.tree.leaves(updates)} == {jnp.dtype("bfloat16")}
    assert {m.dtype for m in jax.tree.leaves(state.square)} == {jnp.dtype("float32")}
    # The first step of Adam is the sign of the gradient.
    expected = -0.01 * np.sign(np.asarray(weights["matrix"], np.float64))
    actual = np.asarray(updates["matrix"], np.float64)
    np.testing.assert_allclose(actual, expected, rtol=2**-8)


@pytest.mark.parametrize("name", ["adam", "adam_w", "adafactor"])
def test_zero_gradients_in_float16_stay_finite(name):
    weights = draw_weights("float16")
    state, hyperparams = init_optimizer(
        f"optim/{name}", {"learning_rate": 0.01}, weights
    )
    step = jax.jit(step_optimizer)
    for _ in range(3):
        gradients = jax.tree.map(np.zeros_like, weights)
        updates, state = step(hyperparams, gradients, state, weights)
        assert all(bool(np.isfinite(u).all()) for u in jax.tree.leaves(updates))


def test_the_state_has_the_structure_of_the_weights():
    weights = draw_weights("float32")
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    state, _ = init_optimizer("optim/adafactor", settings, weights)
    structure = jax.tree.structure(weights)
    for name in ("row", "column", "square", "trace"):
        assert jax.tree.structure(getattr(state, name)) == structure
