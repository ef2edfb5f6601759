"""Optimizers that evaluate the loss, in every optimizer of optimizers: each step is on the true loss."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numerics_optimizers import FAST_COMPILATION

from mlax import optim

X = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3)), jnp.float32)
TARGET = X @ jnp.asarray([3.0, -2.0, 1.0]) + 4.0
WEIGHTS = {
    "kernel": jnp.asarray([1.0, 1.0, -1.0]),
    "bias": jnp.asarray(2.0),
    "scale": jnp.asarray(2.0),
}


def of_kernel(path: str, weight: Any) -> bool:
    return path == "kernel"


def loss(weights: Any) -> jax.Array:
    """A weight of None is none, as in layers."""
    y = X @ weights["kernel"]
    y = y if weights["scale"] is None else y * weights["scale"]
    y = y if weights["bias"] is None else y + weights["bias"]
    return jnp.mean((y - TARGET) ** 2)


Initialized = Any
Init = Callable[[Any], Initialized]


def sgd(weights: Any) -> Initialized:
    return optim.Sgd.init(weights, 0.1)


EVALUATING: dict[str, Init] = {
    "zoom": lambda w: optim.ZoomSearch.init(sgd(w)),
    "zoom_of_lbfgs": lambda w: optim.ZoomSearch.init(optim.Lbfgs.init(w)),
    "backtracking": lambda w: optim.BacktrackingSearch.init(optim.Sgd.init(w, 9.0)),
    "sam": lambda w: optim.Sam.init(sgd(w), 0.5),
    "sophia": lambda w: optim.Sophia.init(w, 0.1),
    "optax_zoom": lambda w: optim.from_optax(
        optax.chain(optax.sgd(1.0), optax.scale_by_zoom_linesearch(10)), w
    ),
    "optax_backtracking": lambda w: optim.from_optax(
        optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(10)), w
    ),
}
SEARCHES = [name for name in EVALUATING if name not in ("sam", "sophia")]
WITH_VALUES: dict[str, Init] = {
    "polyak": optim.PolyakSgd.init,
    "momo": lambda w: optim.Momo.init(w, 1.0),
    "optax_polyak": lambda w: optim.from_optax(optax.polyak_sgd(), w),
}
WRAPPERS: dict[str, Callable[[Any, Init], Initialized]] = {
    "chain": lambda w, init: optim.Chain.init([init(w)]),
    "masked": lambda w, init: optim.Masked.init(w, init(w), lambda p, x: True),
    "accumulate": lambda w, init: optim.Accumulate.init(w, init(w), 1),
    "apply_if_finite": lambda w, init: optim.ApplyIfFinite.init(init(w)),
    "skip_large": lambda w, init: optim.SkipLargeUpdates.init(init(w), 1e6),
    "loss_scaling": lambda w, init: optim.DynamicLossScaling.init(
        init(w), initial_scale=1, period=100
    ),
    "lookahead": lambda w, init: optim.Lookahead.init(w, init(w), 100),
}
each_evaluating = pytest.mark.parametrize("name", EVALUATING)


def trained(
    initialized: Initialized, weights: Any, function: Any, steps: int = 3
) -> Any:
    """Weights after some steps, and the losses before each."""
    state, hyperparams = initialized
    both = jax.value_and_grad(function)

    def run(weights: Any, state: Any) -> Any:
        def body(carry: Any, key: Any) -> Any:
            weights, state = carry
            value, gradients = both(weights)
            updates, state = hyperparams.apply(
                gradients,
                state,
                weights,
                value=value,
                value_and_gradients=both,
                key=key,
            )
            return (optim.apply_updates(weights, updates), state), value

        keys = jax.random.split(jax.random.key(0), steps)
        return jax.lax.scan(body, (weights, state), keys)

    run = jax.jit(run, compiler_options=FAST_COMPILATION)
    (weights, _), losses = run(weights, state)
    return weights, [*losses, function(weights)]


def assert_same(actual: Any, expected: Any) -> None:
    assert set(actual) == set(expected)
    for name in expected:
        np.testing.assert_allclose(
            actual[name], expected[name], rtol=1e-4, atol=1e-5, err_msg=name
        )


class Probe(NamedTuple):
    """An optimizer whose update is the gradient at other weights, times the value."""

    def apply(self, gradients: Any, state: Any, trainables: Any, **inputs: Any) -> Any:
        there, slopes = inputs["value_and_gradients"](
            jax.tree.map(lambda w, g: w - 0.1 * g, trainables, gradients)
        )
        factor = jnp.float32(there * inputs["value"])
        return jax.tree.map(lambda g: factor * g, slopes), state


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_hands_on_what_it_is_given(wrapper):
    both = jax.value_and_grad(loss)
    value, gradients = both(WEIGHTS)

    def updates(initialized: Initialized) -> Any:
        state, hyperparams = initialized
        step = functools.partial(hyperparams.apply, value_and_gradients=both)
        step = jax.jit(step, compiler_options=FAST_COMPILATION)
        return step(gradients, state, WEIGHTS, value=value)[0]

    def init(weights: Any) -> Initialized:
        return (), Probe()

    assert_same(updates(WRAPPERS[wrapper](WEIGHTS, init)), updates(init(WEIGHTS)))


@each_evaluating
def test_masked_holds_the_other_weights_where_they_are(name):
    init = EVALUATING[name]
    part = {"kernel": WEIGHTS["kernel"]}
    expected, _ = trained(init(part), part, lambda part: loss(WEIGHTS | part))
    masked = optim.Masked.init(WEIGHTS, init(WEIGHTS), of_kernel)
    frozen = optim.Freeze.init(WEIGHTS, lambda p, x: not of_kernel(p, x))
    actual, losses = trained(optim.Chain.init([masked, frozen]), WEIGHTS, loss)
    assert_same(actual, WEIGHTS | expected)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize(
    "clip",
    [
        lambda w: optim.ClipByGlobalNorm.init(w, 0.1),
        lambda w: optim.Clip.init(w, 1.0),
        lambda w: optim.from_optax(optax.clip_by_global_norm(0.1), w),
    ],
)
def test_a_search_after_a_clip_sees_the_true_slope(name, clip):
    chain = optim.Chain.init([clip(WEIGHTS), EVALUATING[name](WEIGHTS)])
    _, losses = trained(chain, WEIGHTS, loss)
    assert losses[-1] < 0.9 * losses[0]
    assert all(b <= a + 1e-6 for a, b in itertools.pairwise(losses))


@pytest.mark.parametrize(
    "search",
    [
        lambda inner: optim.ZoomSearch.init(inner, curvature_rtol=0.5),
        lambda inner: optim.BacktrackingSearch.init(inner, slope_rtol=0.4),
    ],
)
def test_a_search_after_a_clip_is_one_around_it(search):
    clip, large = optim.Clip.init(WEIGHTS, 0.5), optim.Sgd.init(WEIGHTS, 4.0)
    after = optim.Chain.init([clip, search(large)])
    around = search(optim.Chain.init([clip, large]))
    assert_same(trained(after, WEIGHTS, loss)[0], trained(around, WEIGHTS, loss)[0])


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_of_optax_after_another_optimizer_descends(name):
    adam = optim.Chain.init(
        [optim.Adam.init(WEIGHTS, 1.0), optim.Sgd.init(WEIGHTS, 1.0)]
    )
    chain = optim.Chain.init([adam, EVALUATING[name](WEIGHTS)])
    _, losses = trained(chain, WEIGHTS, loss)
    assert losses[1] < losses[0]


@pytest.mark.parametrize("name", [n for n in EVALUATING if "optax" not in n])
def test_accumulated_parts_of_a_loss_are_refused(name):
    initialized = optim.Accumulate.init(WEIGHTS, EVALUATING[name](WEIGHTS), 2)
    with pytest.raises(ValueError, match="the loss of its own part only"):
        jax.eval_shape(lambda weights: trained(initialized, weights, loss)[0], WEIGHTS)


@pytest.mark.parametrize("name", WITH_VALUES)
def test_accumulated_values_are_averaged(name):
    init = WITH_VALUES[name]
    parts = [slice(0, 4), slice(4, 8)]

    def of_part(weights: Any, part: slice) -> jax.Array:
        return jnp.mean((X[part] @ weights["kernel"] - TARGET[part]) ** 2)

    part = {"kernel": WEIGHTS["kernel"]}
    whole, (state, hyperparams) = init(part), optim.Accumulate.init(part, init(part), 2)
    value, gradients = jax.value_and_grad(
        lambda w: (of_part(w, parts[0]) + of_part(w, parts[1])) / 2
    )(part)
    expected, _ = whole[1].apply(gradients, whole[0], part, value=value)
    step = jax.jit(hyperparams.apply, compiler_options=FAST_COMPILATION)
    updates = None
    for each in parts:
        value, gradients = jax.value_and_grad(of_part)(part, each)
        updates, state = step(gradients, state, part, value=value)
    assert_same(updates, expected)
    assert float(state.loss) == 0.0
    # The mean of a diverged step is not kept.
    for given in (jnp.nan, 1.0, 1.0):
        value = jnp.asarray(given, state.loss.dtype)
        _, state = step(gradients, state, part, value=value)
    assert float(state.loss) == 1.0


def test_accumulate_into_sam_sees_each_part():
    inner = optim.Accumulate.init(WEIGHTS, sgd(WEIGHTS), 2)
    _, losses = trained(optim.Sam.init(inner, 0.01), WEIGHTS, loss, steps=6)
    assert losses[-1] < 0.5 * losses[0]
    assert losses[1] == losses[0]


def test_gradients_reach_transformations_that_do_not_evaluate_as_they_are():
    clip = optim.Clip.init(WEIGHTS, 0.01)
    chain = optim.Chain.init([clip, optim.from_optax(optax.sgd(1.0), WEIGHTS)])
    moved, _ = trained(chain, WEIGHTS, loss, steps=1)
    for name, weight in WEIGHTS.items():
        assert float(jnp.max(jnp.abs(moved[name] - weight))) < 0.0101
