"""Optimizers that find their step size from the distance travelled, against optax."""

from typing import Any

import optax.contrib
import pytest
from numerics_optimizers import Row, assert_parity, cases, falling, label, matrices

DECAY = {"weight_decay": 0.1, "mask": matrices}


def dog(first_step: Any = "heuristic", first_value=1e-6, **given):
    """That of optax, which takes the kind of the first step and its value as one."""
    return optax.contrib.dog(init_step=(first_step, first_value), **given)


ROWS = (
    Row(
        "cocob",
        optax.contrib.cocob,
        ({"learning_rate": falling}, DECAY | {"alpha": 10.0, "epsilon": 1e-2}),
    ),
    Row(
        "do_g",
        dog,
        (
            {"learning_rate": falling},
            DECAY | {"first_step": "distance", "first_value": 0.1, "epsilon": 1e-2},
            {"first_step": "learning_rate", "first_value": 0.1},
        ),
    ),
    Row(
        "do_wg",
        optax.contrib.dowg,
        ({"learning_rate": falling}, DECAY | {"first_square": 0.1, "epsilon": 1e-2}),
        {"first_square": "init_estim_sq_dist"},
    ),
)


@pytest.mark.parametrize(("row", "setting"), cases(*ROWS), ids=label)
def test_steps_are_those_of_optax(row, setting):
    assert_parity(row, setting)
