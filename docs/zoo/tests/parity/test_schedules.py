"""Schedules have the values that their papers say, in float64."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from made import assert_same
from mlax_scaffold.testing.dtypes import x64

from references.budgeted import budgeted
from references.cosine_restarts import cosine_restarts
from references.cyclic import cyclic
from references.noam import noam
from references.rex import rex
from references.trapezoid import trapezoid
from zoo import schedule

STEPS = [0, 1, 2, 5, 9, 10, 11, 19, 20, 25, 40, 90]


SCHEDULES = {
    "budgeted": (
        schedule.Budgeted(0.3, 40),
        lambda step: budgeted(step, 0.3, 40),
    ),
    "linear budget": (
        schedule.Budgeted(0.3, 40, profile="linear"),
        lambda step: budgeted(step, 0.3, 40, profile="linear"),
    ),
    "cosine restarts": (
        schedule.CosineRestarts(0.3, (10, 25), decay=0.5),
        lambda step: cosine_restarts(step, 0.3, (10, 25), decay=0.5),
    ),
    "cyclic": (
        schedule.Cyclic(0.1, 0.5, 10, mode="triangular2"),
        lambda step: cyclic(step, 0.1, 0.5, 10, mode="triangular2"),
    ),
    "cyclic in a range": (
        schedule.Cyclic(0.1, 0.5, 10, mode="exp_range", gamma=0.99),
        lambda step: cyclic(step, 0.1, 0.5, 10, mode="exp_range", gamma=0.99),
    ),
    "noam": (
        schedule.Noam(16, warmup_steps=10),
        lambda step: noam(step, 16, warmup_steps=10),
    ),
    "rex": (
        schedule.REX(0.3, 40, warmup=10, min_lr=0.1, d=0.8),
        lambda step: rex(step, 0.3, 40, warmup=10, min_lr=0.1, d=0.8),
    ),
    "trapezoid": (
        schedule.Trapezoid(0.3, 40, warmup_steps=5),
        lambda step: trapezoid(step, 0.3, 40, warmup_steps=5),
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    given, expected = SCHEDULES[name]
    with x64():
        values = given(jnp.asarray(STEPS, jnp.float64))
    assert values.dtype == jnp.float64
    assert_same(np.asarray(values), np.array([expected(step) for step in STEPS]))
