"""Optimizers that scale whole steps or take their signs, against optax."""

import jax
import jax.numpy as jnp
import optax
import pytest
from numerics_optimizers import Row, assert_parity, cases, falling, label, matrices

RATE = {"learning_rate": 0.1}
DECAY = {"weight_decay": 0.1, "mask": matrices}

ROWS = (
    Row("sign_sgd", optax.sign_sgd, ({"learning_rate": falling},)),
    Row(
        "signum",
        optax.signum,
        ({"learning_rate": falling}, RATE | {"decay": 0.5}),
        {"decay": "beta"},
    ),
    Row(
        "lion",
        optax.lion,
        (
            {"learning_rate": falling, "weight_decay": falling},
            RATE | DECAY | {"b1": 0.5, "b2": 0.8},
            RATE | {"b1": 0.8, "b2": 0.5},
        ),
    ),
    Row(
        "optimistic_gradient_descent",
        optax.optimistic_gradient_descent,
        ({"learning_rate": falling}, RATE | {"alpha": 0.5, "beta": 2.0}),
    ),
    Row(
        "lamb",
        optax.lamb,
        (
            {"learning_rate": falling, "weight_decay": falling},
            RATE
            | {"b1": 0.5, "b2": 0.9, "epsilon": 1e-2, "epsilon_root": 1e-2}
            | DECAY,
        ),
    ),
    Row(
        "sgd",
        optax.sgd,
        (
            {"learning_rate": falling},
            RATE | {"momentum": 0.9},
            RATE | {"momentum": 0.5, "nesterov": True},
        ),
    ),
    Row(
        "lars",
        optax.lars,
        (
            {"learning_rate": falling, "weight_decay": falling},
            RATE | DECAY | {"momentum": 0.5, "nesterov": True, "epsilon": 0.1},
            RATE | {"momentum": 0.0, "trust_coefficient": 0.1, "trust_mask": matrices},
        ),
        {"mask": "weight_decay_mask", "trust_mask": "trust_ratio_mask"},
    ),
    Row(
        "r_prop",
        optax.rprop,
        (
            RATE,
            RATE
            | {"eta_minus": 0.8, "eta_plus": 1.5}
            | {"min_step_size": 0.05, "max_step_size": 0.3},
        ),
        # What optax returns is the step of the iteration before.
        their_updates=lambda updates, state: jax.tree.map(
            jnp.negative, state[0].prev_updates
        ),
    ),
    Row(
        "fromage",
        optax.fromage,
        ({"learning_rate": falling}, RATE | {"min_norm": 2.0}),
    ),
    Row(
        "novo_grad",
        optax.novograd,
        (
            {"learning_rate": falling},
            RATE
            | {"b1": 0.5, "b2": 0.9, "epsilon": 1e-2, "epsilon_root": 1e-2}
            | {"weight_decay": 0.1},
        ),
    ),
)


@pytest.mark.parametrize(("row", "setting"), cases(*ROWS), ids=label)
def test_steps_are_those_of_optax(row, setting):
    assert_parity(row, setting)
