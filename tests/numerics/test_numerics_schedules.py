"""Schedules against optax, and against their equations where optax has none."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numerics_adapter import schedule
from numerics_arrays import assert_close

STEPS = 60
ONE_CYCLE = {"transition_steps": 40, "peak_value": 0.5}
WARMUP = {"init_value": 0.1, "peak_value": 0.5, "warmup_steps": 7}
BOUNDARIES = {4: 0.5, 10: 2.0, 25: 0.1}
JOINED = (
    ({"init_value": 0.0, "end_value": 0.5, "transition_steps": 5}, 5),
    ({"init_value": 0.5, "end_value": 0.2, "transition_steps": 20}, 30),
    ({"init_value": 0.1, "end_value": 0.3, "transition_steps": 4}, None),
)

CASES = [
    ("constant", {"constant": 0.3}, lambda: optax.constant_schedule(0.3)),
    (
        "cosine",
        {"init_value": 0.5, "decay_steps": 10, "alpha": 0.2, "exponent": 1.5},
        lambda: optax.cosine_decay_schedule(0.5, 10, 0.2, 1.5),
    ),
    (
        "linear",
        {"init_value": 0.5, "end_value": 0.1, "transition_steps": 20},
        lambda: optax.linear_schedule(0.5, 0.1, 20),
    ),
    (
        "linear",
        {
            "init_value": 0.1,
            "end_value": 0.5,
            "transition_steps": 20,
            "transition_begin": 5,
        },
        lambda: optax.linear_schedule(0.1, 0.5, 20, 5),
    ),
    (
        "polynomial",
        {
            "init_value": 0.5,
            "end_value": 0.1,
            "power": 2.5,
            "transition_steps": 20,
            "transition_begin": 3,
        },
        lambda: optax.polynomial_schedule(0.5, 0.1, 2.5, 20, 3),
    ),
    *(
        (
            "exponential",
            {
                "init_value": 0.5,
                "transition_steps": 10,
                "decay_rate": rate,
                "transition_begin": begin,
                "staircase": staircase,
                "end_value": end,
            },
            functools.partial(
                optax.exponential_decay, 0.5, 10, rate, begin, staircase, end
            ),
        )
        for rate, begin, staircase, end in (
            (0.8, 0, False, None),
            (0.8, 4, True, None),
            (0.8, 4, True, 0.3),
            (1.2, 0, False, 1.0),
        )
    ),
    (
        "cosine_one_cycle",
        ONE_CYCLE,
        lambda: optax.cosine_onecycle_schedule(**ONE_CYCLE),
    ),
    (
        "cosine_one_cycle",
        ONE_CYCLE | {"pct_start": 0.5, "div_factor": 5.0, "final_div_factor": 10.0},
        lambda: optax.cosine_onecycle_schedule(40, 0.5, 0.5, 5.0, 10.0),
    ),
    (
        "linear_one_cycle",
        ONE_CYCLE,
        lambda: optax.linear_onecycle_schedule(**ONE_CYCLE),
    ),
    (
        "linear_one_cycle",
        ONE_CYCLE
        | {"pct_start": 0.2, "pct_final": 0.7, "div_factor": 5, "final_div_factor": 10},
        lambda: optax.linear_onecycle_schedule(40, 0.5, 0.2, 0.7, 5.0, 10.0),
    ),
    (
        "piecewise_constant",
        {
            "init_value": 0.5,
            "boundaries": list(BOUNDARIES),
            "scales": list(BOUNDARIES.values()),
        },
        lambda: optax.piecewise_constant_schedule(0.5, BOUNDARIES),
    ),
    *(
        (
            "piecewise_interpolated",
            {
                "interpolate_type": form,
                "init_value": 0.5,
                "boundaries": tuple(BOUNDARIES),
                "scales": tuple(BOUNDARIES.values()),
            },
            functools.partial(
                optax.piecewise_interpolate_schedule, form, 0.5, BOUNDARIES
            ),
        )
        for form in ("linear", "cosine")
    ),
    (
        "warmup_constant",
        WARMUP,
        lambda: optax.warmup_constant_schedule(**WARMUP),
    ),
    *(
        (
            "warmup_cosine",
            WARMUP | given,
            functools.partial(optax.warmup_cosine_decay_schedule, **WARMUP | given),
        )
        for given in (
            {"decay_steps": 40},
            {"decay_steps": 30, "end_value": 0.05, "exponent": 2.0},
            {"decay_steps": 30, "warmup_steps": 0},
        )
    ),
    *(
        (
            "warmup_exponential",
            WARMUP | given,
            functools.partial(
                optax.warmup_exponential_decay_schedule, **WARMUP | given
            ),
        )
        for given in (
            {"transition_steps": 10, "decay_rate": 0.7},
            {
                "transition_steps": 6,
                "decay_rate": 0.7,
                "transition_begin": 3,
                "staircase": True,
                "end_value": 0.2,
            },
        )
    ),
    (
        "sgdr",
        {
            "peak_values": (0.5, 0.3, 0.4),
            "decay_steps": (10, 20, 15),
            "warmup_steps": 4,
            "init_value": 0.1,
            "end_value": 0.05,
            "exponent": 1.5,
        },
        lambda: optax.sgdr_schedule(
            {
                "init_value": 0.1,
                "peak_value": peak,
                "decay_steps": steps,
                "warmup_steps": 4,
                "end_value": 0.05,
                "exponent": 1.5,
            }
            for peak, steps in ((0.5, 10), (0.3, 20), (0.4, 15))
        ),
    ),
]


@pytest.mark.parametrize(
    ("name", "given", "theirs"),
    CASES,
    ids=[f"{i}-{name}" for i, (name, *_) in enumerate(CASES)],
)
def test_as_optax(name, given, theirs, dtype):
    ours = schedule(f"schedule/{name}", **given)
    values = jax.jit(ours)(jnp.arange(STEPS, dtype=dtype))
    expected = jax.vmap(theirs())(jnp.arange(STEPS, dtype=jnp.float64))
    assert_close(values, expected, dtype)
    # Not merely constant.
    assert name == "constant" or len(np.unique(np.asarray(values))) > 2


def test_join(dtype):
    """Also of a schedule that is a function of one's own."""
    make = functools.partial(schedule, "schedule/linear")
    boundaries = [end for _, end in JOINED if end is not None]
    ours = schedule(
        "schedule/join",
        schedules=[make(**given) for given, _ in JOINED],
        boundaries=boundaries,
    )
    theirs = optax.join_schedules(
        [optax.linear_schedule(**given) for given, _ in JOINED], boundaries
    )
    steps = jnp.arange(STEPS, dtype=dtype)
    assert_close(ours(steps), jax.vmap(theirs)(steps.astype("float64")), dtype)
    mixed = schedule(
        "schedule/join", schedules=(make(**JOINED[0][0]), jnp.sqrt), boundaries=[5]
    )
    assert_close(mixed(jnp.asarray(9, dtype)), 2.0, dtype)


def test_inverse_sqrt_is_that_of_attention_is_all_you_need(dtype):
    features, warmup = 64, 20
    ours = schedule(
        "schedule/inverse_sqrt",
        peak_value=1.0 / math.sqrt(features * warmup),
        warmup_steps=warmup,
    )
    steps = np.arange(1, STEPS, dtype=np.float64)
    expected = features**-0.5 * np.minimum(steps**-0.5, steps * warmup**-1.5)
    assert_close(ours(jnp.asarray(steps, dtype)), expected, dtype)
    begun = schedule(
        "schedule/inverse_sqrt", peak_value=0.5, warmup_steps=10, init_value=0.1
    )
    assert_close(
        begun(jnp.asarray([0, 5, 10, 40], dtype)),
        np.array([0.1, 0.3, 0.5, 0.25]),
        dtype,
    )


@pytest.mark.parametrize(
    ("decay_type", "half"),
    [("linear", 0.5), ("cosine", 0.5), ("sqrt", 1.0 - math.sqrt(0.5))],
)
def test_warmup_stable_decay(decay_type, half, dtype):
    ours = schedule(
        "schedule/warmup_stable_decay",
        peak_value=0.9,
        warmup_steps=4,
        stable_steps=10,
        decay_steps=8,
        init_value=0.1,
        end_value=0.2,
        decay_type=decay_type,
    )
    steps = jnp.asarray([0, 2, 4, 9, 14, 18, 22, 100], dtype)
    middle = 0.2 + 0.7 * half
    expected = np.array([0.1, 0.5, 0.9, 0.9, 0.9, middle, 0.2, 0.2])
    assert_close(ours(steps), expected, dtype)


def test_integers_numbers_and_arrays_of_steps():
    ours = schedule("schedule/cosine", init_value=1.0, decay_steps=10)
    for step in (5, np.int32(5), jnp.uint8(5), 5.0, jnp.int64(5)):
        assert ours(step).dtype == jnp.float64
        assert ours(step) == pytest.approx(0.5)
    with jax.enable_x64(False):
        assert ours(5).dtype == jnp.float32
        assert ours(5.0).dtype == jnp.float32
    assert ours(jnp.float16(5)).dtype == jnp.float16
    steps = jnp.arange(12, dtype=jnp.int32)
    assert (jax.vmap(ours)(steps) == ours(steps)).all()


def test_a_step_is_compiled_once():
    rate = schedule("schedule/sgdr", peak_values=[1.0, 0.5], decay_steps=[4, 8])
    traced = []

    @jax.jit
    def jitted(step: jax.Array) -> jax.Array:
        traced.append(step)
        return rate(step)

    step, value = jnp.zeros((), jnp.int32), jnp.zeros(())
    for _ in range(3):
        value = value + jitted(step)
        step = step + 1
    assert len(traced) == 1
    assert not value.weak_type


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("join", {"schedules": [jnp.sqrt], "boundaries": [3]}, "one more schedule"),
        (
            "piecewise_constant",
            {"init_value": 1.0, "boundaries": [3, 5], "scales": [0.1]},
            "as many scales as boundaries",
        ),
        (
            "piecewise_interpolated",
            {
                "interpolate_type": "linear",
                "init_value": 1,
                "boundaries": [],
                "scales": [1],
            },
            "as many scales as boundaries",
        ),
        ("warmup_cosine", WARMUP | {"decay_steps": 7}, "decay_steps must be above"),
        ("sgdr", {"peak_values": [1], "decay_steps": [1, 2]}, "as many peak values"),
        ("sgdr", {"peak_values": [], "decay_steps": []}, "at least one"),
        (
            "sgdr",
            {"peak_values": [1, 1], "decay_steps": [5, 3], "warmup_steps": 3},
            "each of decay_steps",
        ),
        ("cosine_one_cycle", ONE_CYCLE | {"pct_start": 1.0}, "pct_start must leave"),
        ("linear_one_cycle", ONE_CYCLE | {"pct_final": 0.2}, "0 < pct_start"),
        (
            "piecewise_constant",
            {"init_value": 1.0, "boundaries": [5, 3], "scales": [1, 1]},
            "boundaries must be an increasing sequence",
        ),
        (
            "piecewise_constant",
            {"init_value": 1.0, "boundaries": [3], "scales": [-1]},
            r"scales\[0\] must be",
        ),
    ],
)
def test_what_does_not_fit_is_refused(name, given, message):
    with pytest.raises(ValueError, match=message):
        schedule(f"schedule/{name}", **given)


def test_schedules_are_values():
    make = functools.partial(schedule, "schedule/cosine", init_value=1)
    one, same, other = (make(decay_steps=n) for n in (5, 5, 6))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    with pytest.raises(AttributeError, match="cannot assign"):
        setattr(one, "decay_steps", 3)  # noqa: B010
