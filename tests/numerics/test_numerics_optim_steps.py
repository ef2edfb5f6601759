"""Optimizers that scale whole steps or take their signs, against optax."""

import optax
import pytest
from numerics_optimizers import Row, assert_parity, cases, falling, label

RATE = {"learning_rate": 0.1}

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
            RATE | {"b1": 0.5, "b2": 0.8, "weight_decay": 0.1},
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
            | {"weight_decay": 0.1},
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
