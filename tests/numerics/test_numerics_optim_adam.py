"""Adam and its kin against optax: every hyperparameter, with schedules."""

import optax
import optax.contrib
import pytest
from numerics_optimizers import Row, assert_parity, cases, falling, label, matrices

ADAM = {"learning_rate": 0.01, "b1": 0.8, "b2": 0.99, "epsilon": 1e-4}
ROOT = {"epsilon_root": 1e-3}
DECAY = {"weight_decay": 0.1, "mask": matrices}

ROWS = (
    Row(
        "adam",
        optax.adam,
        (
            {"learning_rate": falling},
            ADAM | ROOT,
            ADAM | {"b1": 0.0, "nesterov": True},
        ),
    ),
    Row(
        "adam_w",
        optax.adamw,
        (
            {"learning_rate": falling, "weight_decay": falling},
            ADAM | ROOT | DECAY | {"nesterov": True},
        ),
    ),
    Row("n_adam", optax.nadam, ({"learning_rate": falling}, ADAM | ROOT)),
    Row(
        "n_adam_w",
        optax.nadamw,
        (
            {"learning_rate": falling, "weight_decay": falling},
            ADAM | ROOT | DECAY,
        ),
    ),
    Row(
        "r_adam",
        optax.radam,
        (
            {"learning_rate": falling},
            ADAM | ROOT | {"threshold": 10.0, "nesterov": True},
            ADAM | {"b2": 0.5},
        ),
    ),
    Row(
        "ams_grad",
        optax.amsgrad,
        (
            {"learning_rate": falling},
            ADAM | ROOT | {"bias_correction_mean": False},
            ADAM | {"bias_correction_square": False},
        ),
        {
            "bias_correction_mean": "bias_correction_mu",
            "bias_correction_square": "bias_correction_nu",
        },
    ),
    Row("ada_max", optax.adamax, ({"learning_rate": falling}, ADAM)),
    Row(
        "ada_max_w",
        optax.adamaxw,
        (
            {"learning_rate": falling, "weight_decay": falling},
            ADAM | DECAY,
        ),
    ),
    Row(
        "ada_belief",
        optax.adabelief,
        ({"learning_rate": falling}, ADAM | ROOT | {"nesterov": True}),
    ),
    Row(
        "adan",
        optax.adan,
        (
            {"learning_rate": falling, "weight_decay": falling},
            ADAM | ROOT | DECAY | {"b3": 0.95},
        ),
    ),
    Row(
        "optimistic_adam",
        optax.optimistic_adam_v2,
        (
            {"learning_rate": falling},
            ADAM | ROOT | {"alpha": 0.5, "beta": 2.0, "nesterov": False},
        ),
    ),
    Row(
        "ac_prop",
        optax.contrib.acprop,
        ({"learning_rate": falling}, ADAM | ROOT | DECAY),
    ),
    Row(
        "ad_ema_mix",
        optax.contrib.ademamix,
        (
            {"learning_rate": falling, "alpha": falling, "b3": falling},
            ADAM | ROOT | DECAY | {"b3": 0.99, "alpha": 2.0},
        ),
    ),
    Row(
        "simplified_ad_ema_mix",
        optax.contrib.simplified_ademamix,
        (
            {"learning_rate": falling, "alpha": falling},
            ADAM | ROOT | DECAY | {"alpha": 2.0},
        ),
    ),
    Row(
        "adopt",
        lambda clipping_exponent=0.25, **given: optax.contrib.adopt(
            use_clipping=clipping_exponent is not None,
            clip_value_fn=lambda step: step ** (clipping_exponent or 0.0),
            **given,
        ),
        (
            {"learning_rate": falling},
            ADAM | {"clipping_exponent": 0.1, "nesterov": True},
            ADAM | {"clipping_exponent": None},
        ),
    ),
)


@pytest.mark.parametrize(("row", "setting"), cases(*ROWS), ids=label)
def test_steps_are_those_of_optax(row, setting):
    assert_parity(row, setting)
