"""Transformations of gradients and updates, and optimizers of optimizers, against optax."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
import optax.contrib
import pytest
from numerics_optimizers import falling
from numerics_steps import Pair, assert_parity

from mlax import optim

FREEZE: Any = optax.transforms.freeze


def matrices(path: str, weight: Any) -> bool:
    return weight.ndim == 2


def matrices_of(weights: Any) -> Any:
    return jax.tree.map(lambda weight: weight.ndim == 2, weights)


def others_of(weights: Any) -> Any:
    return jax.tree.map(lambda weight: weight.ndim != 2, weights)


def adam(weights: Any) -> Any:
    return optim.Adam.init(weights, 0.1, epsilon=1e-4)


def before_sgd(weights: Any, transformation: Any) -> Any:
    return optim.Chain.init([transformation, optim.Sgd.init(weights, 0.1)])


def with_errors(number: Any, gradients: Any) -> Any:
    wrong = (number % 7 == 3) | ((number > 20) & (number < 26))
    return jax.tree.map(
        lambda g: jnp.where(wrong, jnp.full_like(g, jnp.nan), g), gradients
    )


def value(value: Any, function: Any) -> Any:
    return {"value": value}


THEIR_ADAM = optax.adam(0.1, eps=1e-4)

PAIRS = (
    Pair("clip", lambda w: optim.Clip.init(w, 0.5), lambda: optax.clip(0.5)),
    Pair(
        "clip_by_block_rms",
        lambda w: optim.ClipByBlockRms.init(w, 0.5),
        lambda: optax.clip_by_block_rms(0.5),
    ),
    Pair(
        "adaptive_grad_clip",
        lambda w: optim.AdaptiveGradClip.init(w, 0.2, epsilon=0.1),
        lambda: optax.adaptive_grad_clip(0.2, eps=0.1),
    ),
    Pair(
        "weight_decay",
        lambda w: optim.WeightDecay.init(w, 0.1, mask=matrices),
        lambda: optax.add_decayed_weights(0.1, mask=matrices_of),
    ),
    Pair(
        "weight_decay_of_a_schedule",
        lambda w: optim.WeightDecay.init(w, falling),
        lambda: optax.add_decayed_weights(falling),
    ),
    Pair(
        "trust_ratio",
        lambda w: before_sgd(w, optim.TrustRatio.init(w)),
        lambda: optax.chain(optax.scale_by_trust_ratio(), optax.sgd(0.1)),
    ),
    Pair(
        "trust_ratio_of_hyperparameters",
        lambda w: before_sgd(w, optim.TrustRatio.init(w, 0.5, 0.3, 0.1)),
        lambda: optax.chain(optax.scale_by_trust_ratio(0.5, 0.3, 0.1), optax.sgd(0.1)),
    ),
    Pair(
        "scale_by_weight_rms",
        lambda w: before_sgd(w, optim.ScaleByWeight.init(w, min_scale=0.9)),
        lambda: optax.chain(optax.scale_by_param_block_rms(0.9), optax.sgd(0.1)),
    ),
    Pair(
        "scale_by_weight_norm",
        lambda w: before_sgd(w, optim.ScaleByWeight.init(w, "norm")),
        lambda: optax.chain(optax.scale_by_param_block_norm(), optax.sgd(0.1)),
    ),
    Pair(
        "centralize",
        lambda w: optim.Centralize.init(w, unit_axis=0),
        optax.centralize,
    ),
    Pair("ema", lambda w: optim.Ema.init(w, 0.8), lambda: optax.ema(0.8)),
    Pair(
        "ema_without_debiasing",
        lambda w: optim.Ema.init(w, 0.8, debias=False),
        lambda: optax.ema(0.8, debias=False),
    ),
    Pair(
        "freeze",
        lambda w: optim.Chain.init([adam(w), optim.Freeze.init(w, matrices)]),
        lambda: optax.chain(THEIR_ADAM, FREEZE(matrices_of)),
    ),
    Pair(
        "masked",
        lambda w: optim.Chain.init(
            [
                optim.Masked.init(w, adam(w), matrices),
                optim.Masked.init(w, optim.Sgd.init(w, 0.1), lambda p, x: x.ndim != 2),
            ]
        ),
        lambda: optax.chain(
            optax.masked(THEIR_ADAM, matrices_of),
            optax.masked(optax.sgd(0.1), others_of),
        ),
    ),
    Pair(
        "accumulate",
        lambda w: optim.Accumulate.init(w, adam(w), 2),
        lambda: optax.MultiSteps(
            THEIR_ADAM, 2, accumulator_dtype=jnp.float64
        ).gradient_transformation(),
    ),
    Pair(
        "apply_if_finite",
        lambda w: optim.Chain.init([optim.ApplyIfFinite.init(adam(w), 10), _finite(w)]),
        lambda: optax.apply_if_finite(THEIR_ADAM, 10),
        change=with_errors,
    ),
    Pair(
        "reduce_on_plateau",
        lambda w: optim.ReduceOnPlateau.init(w, patience=3, rtol=0.05),
        lambda: optax.contrib.reduce_on_plateau(patience=3, rtol=0.05),
        value,
    ),
    Pair(
        "reduce_on_plateau_of_hyperparameters",
        lambda w: optim.ReduceOnPlateau.init(w, 0.5, 2, 0.0, 0.3, 2, 3, 0.2),
        lambda: optax.contrib.reduce_on_plateau(0.5, 2, 0.0, 0.3, 2, 3, 0.2),
        value,
    ),
    Pair(
        "learning_rate",
        lambda w: optim.Chain.init(
            [optim.Adam.init(w, 1.0, epsilon=1e-4), optim.LearningRate.init(w, 0.1)]
        ),
        lambda: THEIR_ADAM,
    ),
)


def _finite(weights: Any) -> Any:
    return optim.Clip.init(weights, 1e3)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_takes_the_steps_of_optax(pair):
    assert_parity(pair)
