"""Optimizers that divide by the root of sums or means of squares, against optax."""

import optax
import pytest
from numerics_optimizers import SHAPES, Row, assert_parity, cases, falling, label

RATE = {"learning_rate": 0.1}

ROWS = (
    Row(
        "ada_grad",
        optax.adagrad,
        ({"learning_rate": falling}, RATE | {"initial_value": 0.0, "epsilon": 1e-2}),
        {"initial_value": "initial_accumulator_value"},
    ),
    Row(
        "ada_delta",
        optax.adadelta,
        (
            {"learning_rate": falling, "weight_decay": falling},
            {"learning_rate": 1.0, "decay": 0.5, "epsilon": 1e-2, "weight_decay": 0.1},
        ),
        {"decay": "rho"},
    ),
    Row(
        "yogi",
        lambda learning_rate, **given: optax.chain(
            optax.scale_by_yogi(**given), optax.scale_by_learning_rate(learning_rate)
        ),
        (
            {"learning_rate": falling},
            RATE
            | {"b1": 0.5, "b2": 0.9, "epsilon": 1e-2}
            | {"epsilon_root": 1e-2, "initial_value": 1e-2},
        ),
        {"initial_value": "initial_accumulator_value"},
    ),
    Row(
        "sm3",
        lambda learning_rate, momentum=0.9, **given: optax.chain(
            optax.scale_by_sm3(momentum, **given),
            optax.scale_by_learning_rate(learning_rate),
        ),
        ({"learning_rate": falling}, RATE | {"momentum": 0.5, "epsilon": 1e-2}),
        # That of optax has no place for what a scalar keeps.
        shapes={n: s for n, s in SHAPES.items() if s} | {"cube": (3, 2, 4)},
    ),
)


@pytest.mark.parametrize(("row", "setting"), cases(*ROWS), ids=label)
def test_steps_are_those_of_optax(row, setting):
    assert_parity(row, setting)


def test_yogi_has_the_defaults_of_optax():
    assert_parity(Row("yogi", optax.yogi, ()), {"learning_rate": 0.1})
