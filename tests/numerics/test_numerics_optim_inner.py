"""Optimizers within others that make their state: in subspaces, as adversaries, begun anew."""

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

NUMBERS = optax.contrib.GaLoreDimensionNumbers


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


def turned(path: str, weight: Any) -> str:
    """Matrices that are turned around, and nothing else."""
    return "cr" if path == "matrix" else ""


def only_the_matrix(weights: Any) -> Any:
    return {name: NUMBERS(1, 0) if name == "matrix" else None for name in weights}


PAIRS = (
    Pair(
        "low_rank_adam",
        lambda w: optim.LowRank.init(
            w, optim.Adam.init(w, falling, epsilon=1e-4), 2, 7, 0.5
        ),
        lambda: optax.contrib.scale_by_galore(2, 7, 0.5, optax.adam(falling, eps=1e-4)),
    ),
    Pair(
        "low_rank_momentum_of_axes",
        lambda w: optim.LowRank.init(
            w, optim.Sgd.init(w, 0.1, 0.9), rank=3, axes=turned
        ),
        lambda: optax.contrib.scale_by_galore(
            3,
            base_optimizer=optax.sgd(0.1, 0.9),
            weight_dimension_numbers=only_the_matrix,
        ),
    ),
    Pair(
        "mechanic",
        # Of smaller first steps little is left in optax's differences of weights.
        lambda w: optim.Mechanic.init(
            w, optim.Adam.init(w, falling, epsilon=1e-4), first_scale=1e-3
        ),
        lambda: optax.contrib.mechanize(optax.adam(falling, eps=1e-4), s_init=1e-3),
    ),
    Pair(
        "mechanic_of_hyperparameters",
        lambda w: optim.Mechanic.init(w, optim.Sgd.init(w, 1.0), 0.0, 1e-4, 1e-2, 3),
        lambda: optax.contrib.mechanize(optax.sgd(1.0), 0.0, 1e-4, 1e-2, 3),
    ),
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


def test_in_a_subspace_weights_decay_along_it():
    """An optimizer there has P^T w in the place of w, also where it evaluates the loss."""
    drawn = np.random.default_rng(0).normal(size=(2, 5, 3))
    weights, gradients = drawn
    inner = optim.Sam.init(
        optim.Chain.init(
            [optim.WeightDecay.init(drawn[0], 0.5), optim.Sgd.init(drawn[0], 0.1)]
        ),
        rho=0.2,
    )
    state, hyperparams = optim.LowRank.init(
        weights, inner, rank=2, decomposition_dtype="float64"
    )

    def function(weights):
        return jnp.sum(weights), 2.0 * weights

    updates, _ = hyperparams.apply(
        jnp.asarray(gradients), state, weights, value_and_gradients=function
    )
    projection = np.linalg.svd(gradients, full_matrices=False)[0][:, :2]
    low = projection.T @ gradients
    worst = weights + projection @ (0.2 * low / np.linalg.norm(low))
    steepest = projection.T @ (2.0 * worst) + 0.5 * projection.T @ weights
    np.testing.assert_allclose(updates, -0.1 * projection @ steepest, rtol=1e-12)


@pytest.mark.parametrize("name", ["LowRank", "Galore"])
def test_matrices_of_a_batch_have_a_subspace_each(name):
    gradients = np.random.default_rng(0).normal(size=(4, 2, 3, 3))
    weights = jnp.zeros_like(gradients)
    given: Any = {"rank": 2, "axes": lambda *_: "rbcr"}
    if name == "LowRank":
        inner = optim.Sgd.init(weights, 1.0, 0.9)
        state, hyperparams = optim.LowRank.init(weights, inner, **given)
        assert state.optimizer.trace.shape == (2, 2, 3)
    else:
        # The mean of Adam over the root of a mean square that is one.
        given |= {"b1": 0.0, "b2": 0.0, "epsilon_root": 1e12}
        state, hyperparams = optim.Galore.init(weights, 1e6, **given)
        assert state.mean.shape == (2, 2, 3)
    assert state.projection.shape == (2, 12, 2)
    updates, _ = hyperparams.apply(jnp.asarray(gradients), state, weights)
    for i in range(2):
        matrix = gradients[:, i].transpose(0, 2, 1).reshape(12, 3)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        few = (left[:, :2] * values[:2]) @ right[:2]
        expected = -few.reshape(4, 3, 3).transpose(0, 2, 1)
        np.testing.assert_allclose(updates[:, i], expected, rtol=1e-4, atol=1e-5)


WEIGHTS, OTHERS = (
    jax.tree.map(lambda value: jax.device_put(np.asarray(value, np.float32)), values)
    for values in (
        {"kernel": np.ones((4, 3)), "bias": np.ones(3), "scale": 1.0},
        {"kernel": np.full((6, 2), 2.0), "bias": np.full(2, 0.5), "scale": 1.0},
    )
)


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


def test_a_first_state_of_the_values_of_weights_keeps_them():
    twice = jax.tree.map(lambda w: 2.0 * w, WEIGHTS)
    kept = set()
    for name, init in numerics_every.every():
        (once, hyperparams), (other, _) = init(WEIGHTS), init(twice)
        alike = jax.tree.map(np.array_equal, once, other)
        keeps = hyperparams.keeps_weights(WEIGHTS)
        assert keeps or all(jax.tree.leaves(alike)), name
        kept |= {name} if keeps else set()
    # Of these the steps keep weights, or what they moved by.
    assert kept > {"Lbfgs", "Mechanic", "Momo", "MomoAdam"}
    assert not kept & {"Adam", "Sgd", "Muon", "Galore", "LowRank", "Sam", "Snapshot"}


def kept_in_others() -> dict[str, Any]:
    inner = optim.Lookahead.init(WEIGHTS, optim.Sgd.init(WEIGHTS, 0.1))
    adam = optim.Adam.init(WEIGHTS, 0.1)
    return {
        "chain": optim.Chain.init([adam, inner]),
        "named_chain": optim.named_chain({"adam": adam, "inner": inner}),
        "partition": optim.partition(
            WEIGHTS,
            {"adam": adam, "inner": inner},
            lambda path, _: "adam" if path == "bias" else "inner",
        ),
        "inject": optim.inject(optim.DoG.init(WEIGHTS), weight_decay=0.0),
        "optax": optim.from_optax(optax.contrib.prodigy(), WEIGHTS),
        "optax_chain": optim.Chain.init(
            [optim.from_optax(optax.contrib.dog(1.0), WEIGHTS)]
        ),
    }


@pytest.mark.parametrize("name", list(kept_in_others()))
def test_a_subspace_is_none_for_what_keeps_weights(name):
    with pytest.raises(ValueError, match=r"LowRank: optimizer keeps weights.*in Look"):
        optim.LowRank.init(WEIGHTS, kept_in_others()[name], rank=2)
    given = optim.from_optax(optax.adam(0.1), WEIGHTS)
    optim.LowRank.init(WEIGHTS, given, rank=2)
    around = optim.Lookahead.init(WEIGHTS, optim.LowRank.init(WEIGHTS, given, rank=2))
    updates, _ = around[1].apply(WEIGHTS, around[0], WEIGHTS)
    assert all_finite(updates)


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: optim.ScheduleFree.init(WEIGHTS, inner, 0.1),
        lambda inner: optim.Mechanic.init(WEIGHTS, inner),
    ],
    ids=["ScheduleFree", "Mechanic"],
)
def test_weights_that_updates_lead_to_are_none_of_a_scaled_or_averaged_run(around):
    kept = kept_in_others() | {
        "weights": optim.AverageWeights.init(WEIGHTS, optim.Sgd.init(WEIGHTS, 0.1)),
        "mechanic": optim.Mechanic.init(WEIGHTS, optim.Sgd.init(WEIGHTS, 1.0)),
    }
    for inner in kept.values():
        match = r"optimizer keeps weights.*, as in Lookahead\.init"
        with pytest.raises(ValueError, match=match):
            around(inner)
    adam = optim.AdamW.init(WEIGHTS, 0.1, b1=0.0)
    clip = optim.ClipByGlobalNorm.init(WEIGHTS, 1.0)
    given = around(optim.Chain.init([clip, adam]))
    state, hyperparams = optim.Lookahead.init(WEIGHTS, given)
    updates, _ = hyperparams.apply(WEIGHTS, state, WEIGHTS)
    assert all_finite(updates)


def all_finite(tree: Any) -> bool:
    return all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(tree))


def test_numbers_of_the_state_are_no_part_of_what_begins_anew():
    injected = optim.inject(optim.Sgd.init(WEIGHTS, 0.1), learning_rate=0.2)
    state, hyperparams = optim.Lookahead.init(WEIGHTS, injected, reset=True)
    with pytest.raises(ValueError, match="call inject for the optimizer around it"):
        hyperparams.apply(WEIGHTS, state, WEIGHTS)
