"""Optimizers whose steps depend on all weights together, against optax."""

from typing import Any

import optax
import optax.contrib
import pytest
from numerics_optimizers import falling
from numerics_steps import Pair, assert_parity

from mlax import optim


def value(value: Any, function: Any) -> Any:
    return {"value": value}


def grad_fn(value: Any, function: Any) -> Any:
    return {"grad_fn": lambda weights, _: function(weights)[1]}


def ascent(rho: float) -> Any:
    return optax.chain(optax.contrib.normalize(), optax.sgd(rho))


def schedule_free(weights: Any, rate: Any, inner: Any, **settings: Any) -> Any:
    return optim.ScheduleFree.init(weights, inner, rate, **settings)


def from_one(step: Any) -> Any:
    """The schedule that optax calls with 1 in the first step."""
    return falling(step - 1)


PAIRS = (
    Pair(
        "polyak_sgd",
        lambda w: optim.PolyakSgd.init(w, max_learning_rate=0.1),
        lambda: optax.polyak_sgd(max_learning_rate=0.1),
        value,
    ),
    Pair(
        "polyak_sgd_of_hyperparameters",
        lambda w: optim.PolyakSgd.init(w, 1.0, 0.5, 5.0, 0.1, "sps+"),
        lambda: optax.chain(
            optax.scale_by_polyak(5.0, 1.0, 0.1, "sps+"), optax.sgd(0.5)
        ),
        value,
    ),
    Pair(
        "sam",
        lambda w: optim.Sam.init(optim.Adam.init(w, 0.1, epsilon=1e-4), 0.2),
        lambda: optax.contrib.sam(
            optax.adam(0.1, eps=1e-4), ascent(0.2), opaque_mode=True
        ),
        grad_fn,
    ),
    Pair(
        "sam_with_several_ascents",
        lambda w: optim.Sam.init(optim.Sgd.init(w, 0.1), 0.2, ascents=3),
        lambda: optax.contrib.sam(
            optax.sgd(0.1), ascent(0.2), sync_period=4, opaque_mode=True
        ),
        grad_fn,
    ),
    Pair(
        "schedule_free_sgd",
        lambda w: schedule_free(w, 0.1, optim.Sgd.init(w, 0.1)),
        lambda: optax.contrib.schedule_free(optax.sgd(0.1), 0.1),
    ),
    Pair(
        "schedule_free_adam_w",
        lambda w: schedule_free(
            w,
            falling,
            optim.AdamW.init(w, falling, b1=0.0, epsilon=1e-4, weight_decay=0.1),
            b1=0.8,
            weight_power=1.0,
        ),
        lambda: optax.contrib.schedule_free(
            optax.adamw(falling, b1=0.0, eps=1e-4, weight_decay=0.1), from_one, 0.8, 1.0
        ),
    ),
    Pair(
        "momo",
        lambda w: optim.Momo.init(w, 0.1),
        lambda: optax.contrib.momo(0.1),
        value,
    ),
    Pair(
        "momo_of_hyperparameters",
        lambda w: optim.Momo.init(w, falling, 0.8, 2.0, 0.1, True),
        lambda: optax.contrib.momo(falling, 0.8, 2.0, 0.1, True),
        value,
    ),
    Pair(
        "prodigy",
        lambda w: optim.Prodigy.init(w, epsilon=1e-4, first_estimate=1e-3),
        lambda: optax.contrib.prodigy(eps=1e-4, estim_lr0=1e-3),
    ),
    Pair(
        "prodigy_of_hyperparameters",
        lambda w: optim.Prodigy.init(
            w, falling, 0.8, 0.99, 0.9, 1e-4, 1e-2, 0.5, 0.1, True
        ),
        lambda: optax.contrib.prodigy(
            falling, (0.8, 0.99), 0.9, 1e-4, 1e-2, 0.5, 0.1, True
        ),
    ),
    Pair(
        "d_adapt_adam_w",
        lambda w: optim.DAdaptAdamW.init(w, epsilon=1e-4, first_estimate=1e-3),
        lambda: optax.contrib.dadapt_adamw(eps=1e-4, estim_lr0=1e-3),
    ),
    Pair(
        "d_adapt_adam_w_of_hyperparameters",
        lambda w: optim.DAdaptAdamW.init(w, falling, 0.8, 0.99, 1e-4, 1e-2, 0.1),
        lambda: optax.contrib.dadapt_adamw(
            falling, (0.8, 0.99), 1e-4, 1e-2, weight_decay=0.1
        ),
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_takes_the_steps_of_optax(pair):
    assert_parity(pair)
