"""Optimizers that divide by the root of sums or means of squares, against optax."""

from typing import Any

import jax.numpy as jnp
import optax
import optax.contrib
import pytest
from numerics_optimizers import (
    SHAPES,
    Row,
    assert_parity,
    cases,
    falling,
    label,
    matrices,
)

RATE = {"learning_rate": 0.1}
DECAY = {"weight_decay": 0.1, "mask": matrices}


def adafactor(
    learning_rate,
    min_factored_size=128,
    decay_exponent=0.8,
    decay_offset=0,
    scale_by_weight=True,
    clipping_threshold=1.0,
    momentum=0.0,
    weight_decay=0.0,
    mask=None,
    eps=1e-30,
    factored=True,
):
    """optax.adafactor, with its decay computed in float64, where optax has float32."""

    def rate(step: Any, exponent: Any) -> Any:
        number = jnp.asarray(step + 1, "float64") - decay_offset
        return 1.0 - jnp.maximum(number, 1.0) ** -exponent

    return optax.chain(
        optax.scale_by_factored_rms(
            factored=factored,
            decay_rate=decay_exponent,
            min_dim_size_to_factor=min_factored_size,
            epsilon=eps,
            decay_rate_fn=rate,
        ),
        optax.clip_by_block_rms(clipping_threshold or float("inf")),
        optax.scale_by_learning_rate(learning_rate, flip_sign=False),
        optax.scale_by_param_block_rms() if scale_by_weight else optax.identity(),
        optax.ema(momentum, debias=False),
        optax.add_decayed_weights(weight_decay, mask),
        optax.scale(-1.0),
    )


def madgrad(**given):
    """That of optax, whose root of an integer has 32 bits, of a floating number."""
    transformation: Any = optax.contrib.madgrad(**given)

    def init(params: Any) -> Any:
        decay, state = transformation.init(params)
        return decay, state._replace(count=jnp.zeros((), "float64"))

    return optax.GradientTransformation(init, transformation.update)


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
            {"learning_rate": 1.0, "decay": 0.5, "epsilon": 1e-2} | DECAY,
        ),
        {"decay": "rho", "mask": "weight_decay_mask"},
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
        "rms_prop",
        optax.rmsprop,
        (
            {"learning_rate": falling},
            RATE | {"decay": 0.5, "epsilon": 1e-2, "initial_value": 1.0},
            RATE | {"centered": True, "epsilon_in_root": False, "momentum": 0.9},
            RATE | {"unbiased": True, "momentum": 0.5, "nesterov": True},
            RATE | {"unbiased": True, "centered": True, "epsilon": 1e-2},
        ),
        {
            "initial_value": "initial_scale",
            "epsilon_in_root": "eps_in_sqrt",
            "unbiased": "bias_correction",
        },
    ),
    Row(
        "mad_grad",
        madgrad,
        (
            {"learning_rate": falling},
            RATE | {"momentum": 0.5, "weight_decay": 0.1, "epsilon": 1e-2},
        ),
    ),
    Row(
        "adafactor",
        adafactor,
        (
            {"learning_rate": falling, "min_factored_size": 3},
            RATE | DECAY | {"min_factored_size": 2, "scale_by_weight": False},
            RATE
            | {"min_factored_size": 3, "momentum": 0.9, "decay_exponent": 0.7}
            | {"decay_offset": 20},
            RATE | {"min_factored_size": 3, "clipping_threshold": 0.5, "epsilon": 0.1},
            RATE | {"factored": False, "clipping_threshold": None},
            {"learning_rate": 0.1, "weight_decay": falling},
        ),
        shapes=SHAPES | {"cube": (3, 2, 4)},
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
