"""Optimizers within others that make their state: as adversaries, begun anew."""

from typing import Any

import jax
import jax.numpy as jnp
import numerics_every
import numpy as np
import optax
import optax.contrib
import pytest
from numerics_optimizers import falling
from numerics_steps import Pair, assert_parity

from mlax import optim


def grad_fn(value: Any, function: Any) -> Any:
    return {"grad_fn": lambda weights, _: function(weights)[1]}


def lookahead(inner: Any, period: int, slow_step: float) -> Any:
    """Optax's, with its slow weights in the state: the updates are of the fast ones."""
    whole: Any = optax.lookahead(inner, period, slow_step, reset_state=True)

    def init(weights: Any) -> Any:
        return whole.init(optax.LookaheadParams.init_synced(weights)), weights

    def update(gradients: Any, state: Any, weights: Any) -> Any:
        own, slow = state
        both = optax.LookaheadParams(fast=weights, slow=slow)
        updates, own = whole.update(gradients, own, both)
        return updates.fast, (own, jax.tree.map(jnp.add, slow, updates.slow))

    make: Any = optax.GradientTransformation
    return make(init, update)


PAIRS = (
    Pair(
        "adversarial",
        lambda w: optim.Adversarial.init(
            optim.Sgd.init(w, 0.1, 0.9), optim.Adam.init(w, 0.05, epsilon=1e-4), 3
        ),
        lambda: optax.contrib.sam(
            optax.sgd(0.1, 0.9), optax.adam(0.05, eps=1e-4), 4, opaque_mode=True
        ),
        grad_fn,
    ),
    Pair(
        "adversarial_that_is_kept",
        lambda w: optim.Adversarial.init(
            optim.Sgd.init(w, 0.1), optim.Sgd.init(w, 0.05, 0.9), reset=False
        ),
        lambda: optax.contrib.sam(
            optax.sgd(0.1),
            optax.sgd(0.05, 0.9),
            reset_state=False,
            opaque_mode=True,
        ),
        grad_fn,
    ),
    Pair(
        "lookahead_that_begins_anew",
        lambda w: optim.Lookahead.init(
            w, optim.Adam.init(w, falling, epsilon=1e-4), 4, 0.3, reset=True
        ),
        lambda: lookahead(optax.adam(falling, eps=1e-4), 4, 0.3),
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_takes_the_steps_of_optax(pair):
    assert_parity(pair)


WEIGHTS = {"kernel": jnp.ones((4, 3)), "bias": jnp.ones(3), "scale": jnp.ones(())}
OTHERS = {
    "kernel": jnp.full((6, 2), 2.0),
    "bias": jnp.full(2, 0.5),
    "scale": jnp.ones(()),
}


def test_hyperparameters_make_the_state_for_other_weights():
    for name, init in numerics_every.every():
        with_weights = init(OTHERS)
        made = init(WEIGHTS)[1].initial_state(OTHERS)
        assert jax.tree.structure(made) == jax.tree.structure(with_weights[0]), name
        jax.tree.map(np.testing.assert_array_equal, made, with_weights[0])


def test_groups_and_chains_make_the_state_of_theirs():
    groups = {
        "matrices": optim.Muon.init(WEIGHTS, 0.1),
        "others": optim.named_chain({"adam": optim.Adam.init(WEIGHTS, 0.1)}),
    }
    labels = {"kernel": "matrices", "bias": "others", "scale": "others"}
    state, hyperparams = optim.partition(WEIGHTS, groups, labels)
    made = hyperparams.initial_state(OTHERS)
    assert jax.tree.structure(made) == jax.tree.structure(state)
    assert made["matrices"].mean["kernel"].shape == (6, 2)
    assert made["others"]["adam"].mean["bias"].shape == (2,)


def test_numbers_of_the_state_are_no_part_of_what_begins_anew():
    injected = optim.inject(optim.Sgd.init(WEIGHTS, 0.1), learning_rate=0.2)
    state, hyperparams = optim.Lookahead.init(WEIGHTS, injected, reset=True)
    with pytest.raises(ValueError, match="call inject for the optimizer around it"):
        hyperparams.apply(WEIGHTS, state, WEIGHTS)
