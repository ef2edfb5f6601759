"""Schedules against optax."""

import jax.numpy as jnp
import optax
import pytest
from numerics_adapter import schedule
from numerics_arrays import assert_close


def test_cosine(dtype):
    ours = schedule(
        "schedule/cosine", init_value=0.5, steps=10, end_value=0.1, exponent=1.5
    )
    theirs = optax.cosine_decay_schedule(0.5, 10, alpha=0.2, exponent=1.5)
    for step in range(13):
        value = ours(jnp.asarray(step, dtype))
        assert_close(value, theirs(jnp.asarray(step, "float64")), dtype)


def test_constant(dtype):
    assert_close(
        schedule("schedule/constant", constant=0.3)(jnp.zeros((), dtype)), 0.3, dtype
    )


def test_schedules_are_values():
    one, same = (schedule("schedule/cosine", init_value=1, steps=5) for _ in range(2))
    other = schedule("schedule/cosine", init_value=1, steps=6)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    with pytest.raises(AttributeError, match="cannot assign"):
        setattr(one, "steps", 3)  # noqa: B010
