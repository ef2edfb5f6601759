"""Optimizers that look at the loss: line searches, models of it, its curvature."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
import pytest
from numerics_optimizers import (
    FAST_COMPILATION,
    assert_close,
    falling,
    matrices,
    of_tree,
)
from numerics_steps import Pair, assert_parity

from mlax import optim

STEPS = 24
START = {"a": np.array([-1.2, 1.0]), "b": np.array([[0.5, 2.0, -1.0]])}


def vector(weights: Any) -> Any:
    return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(weights)])


def quadratic(weights: Any) -> Any:
    """One with eigenvalues from 1 to 40."""
    x = vector(weights) - 0.3
    scales = jnp.asarray([1.0, 3.0, 10.0, 20.0, 40.0], x.dtype)
    return 1.0 + jnp.sum(scales * x * x) + 0.5 * jnp.sum(x) ** 2


def rosenbrock(weights: Any) -> Any:
    x = vector(weights)
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def paths(step: Any, state: Any, dtype: str = "float64") -> Any:
    """The weights after each step on the two losses, in one program.

    `step(loss, weights, state)` returns updates and the new state.
    """
    start = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), START)

    def path(curved: Any) -> Any:
        def loss(weights: Any) -> Any:
            return jnp.where(curved, rosenbrock(weights), quadratic(weights))

        def body(carry: Any, _: None) -> Any:
            updates, state = step(loss, *carry)
            weights = jax.tree.map(jnp.add, carry[0], updates)
            return (weights, state), weights

        return jax.lax.scan(body, (start, state(start)), length=STEPS)[1]

    run = jax.jit(
        lambda which: jax.lax.map(path, which), compiler_options=FAST_COMPILATION
    )
    return run(jnp.asarray([False, True]))


def paths_of_ours(make: Any, dtype: str = "float64") -> Any:
    def step(loss: Any, weights: Any, state: Any) -> Any:
        function = jax.value_and_grad(loss)
        value, gradients = function(weights)
        _, hyperparams = make(weights)
        return hyperparams.apply(
            gradients, state, weights, value=value, value_and_gradients=function
        )

    return paths(step, lambda start: make(start)[0], dtype)


def paths_of_optax(transformation: Any) -> Any:
    def step(loss: Any, weights: Any, state: Any) -> Any:
        value, grad = jax.value_and_grad(loss)(weights)
        return transformation.update(
            grad, state, weights, value=value, grad=grad, value_fn=loss
        )

    return paths(step, transformation.init)


def zoom(weights: Any, settings: Any = (), **search: Any) -> Any:
    return optim.ZoomSearch.init(optim.Lbfgs.init(weights, **dict(settings)), **search)


def backtracking(weights: Any, settings: Any = (), **search: Any) -> Any:
    return optim.BacktrackingSearch.init(
        optim.Lbfgs.init(weights, **dict(settings)), **search
    )


SMALL = {"memory_size": 2, "scale_init_precond": False}
SEARCHES = {
    "zoom": (zoom, optax.lbfgs()),
    "zoom of hyperparameters": (
        partial(
            zoom,
            settings=SMALL,
            max_steps=12,
            first_size="last",
            max_learning_rate=0.8,
            tolerance=1e-9,
            increase_factor=3.0,
            slope_rtol=0.01,
            curvature_rtol=0.3,
            decrease_rtol=None,
            size_precision=1e-4,
        ),
        optax.lbfgs(
            **SMALL,
            linesearch=optax.scale_by_zoom_linesearch(
                12, 0.8, 1e-9, 3.0, 0.01, 0.3, None, 1e-4, "keep"
            ),
        ),
    ),
    "zoom of one memory": (
        partial(zoom, settings={"memory_size": 1}, curvature_rtol=0.1),
        optax.lbfgs(
            memory_size=1,
            linesearch=optax.scale_by_zoom_linesearch(
                20, curv_rtol=0.1, initial_guess_strategy="one"
            ),
        ),
    ),
    "backtracking": (
        backtracking,
        optax.lbfgs(linesearch=optax.scale_by_backtracking_linesearch(20)),
    ),
    "backtracking of hyperparameters": (
        partial(
            backtracking,
            settings=SMALL,
            max_steps=9,
            slope_rtol=0.1,
            decrease_factor=0.5,
            increase_factor=2.0,
            max_learning_rate=2.0,
            atol=1e-3,
            rtol=1e-3,
        ),
        optax.lbfgs(
            **SMALL,
            linesearch=optax.scale_by_backtracking_linesearch(
                9, 0.1, 0.5, 2.0, 2.0, 1e-3, 1e-3
            ),
        ),
    ),
    "none": (
        partial(optim.Lbfgs.init, learning_rate=falling),
        optax.lbfgs(falling, linesearch=None),
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_lbfgs_takes_the_steps_of_optax(name):
    make, transformation = SEARCHES[name]
    assert_close(paths_of_ours(make), paths_of_optax(transformation), "float64")


PAIRS = (
    Pair(
        "momo_adam",
        lambda w: optim.MomoAdam.init(w, 0.1, epsilon=1e-4),
        lambda: optax.contrib.momo_adam(0.1, eps=1e-4),
        lambda value, function: {"value": value},
    ),
    Pair(
        "momo_adam_of_hyperparameters",
        lambda w: optim.MomoAdam.init(w, falling, 0.8, 0.99, 1e-3, 2.0, 0.1, True),
        lambda: optax.contrib.momo_adam(falling, 0.8, 0.99, 1e-3, 2.0, 0.1, True),
        lambda value, function: {"value": value},
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_models_of_the_loss_are_those_of_optax(pair):
    assert_parity(pair)


def separable(weights: Any) -> Any:
    """A loss whose Hessian is diagonal, so that its estimate is exact for all signs."""
    x = vector(weights)
    return jnp.sum(jnp.cosh(x) + jnp.sin(2.0 * x))


SOPHIAS = {
    "defaults": (
        lambda w: optim.Sophia.init(w, 0.1),
        lambda: optax.contrib.sophia(0.1),
    ),
    "hyperparameters": (
        lambda w: optim.Sophia.init(
            w, falling, 0.8, 0.9, 0.1, 0.5, 0.7, 0.1, matrices, 3
        ),
        lambda: optax.contrib.sophia(falling, 0.8, 0.9, 0.1, 0.1, of_tree, 0.5, 0.7, 3),
    ),
    "without a threshold": (
        lambda w: optim.Sophia.init(w, 0.1, epsilon=1.0, clip_threshold=None),
        lambda: optax.contrib.sophia(0.1, eps=1.0, clip_threshold=None),
    ),
}


@pytest.mark.parametrize("name", SOPHIAS)
def test_sophia_takes_the_steps_of_optax(name):
    make, theirs = SOPHIAS[name]
    transformation = theirs()

    def step_of_ours(weights, state):
        function = jax.value_and_grad(separable)
        _, hyperparams = make(weights)
        return hyperparams.apply(
            function(weights)[1],
            state,
            weights,
            value_and_gradients=function,
            key=jax.random.key(0),
        )

    def step_of_optax(weights, state):
        gradients = jax.jit(jax.grad(separable))(weights)
        return transformation.update(gradients, state, weights, obj_fn=separable)

    def path(step, state):
        def body(carry, _):
            updates, state = step(*carry)
            weights = jax.tree.map(jnp.add, carry[0], updates)
            return (weights, state), weights

        start = jax.tree.map(jnp.asarray, START)
        run = jax.jit(
            lambda carry: jax.lax.scan(body, carry, length=100)[1],
            compiler_options=FAST_COMPILATION,
        )
        return run((start, state(start)))

    expected = path(step_of_optax, transformation.init)
    assert_close(path(step_of_ours, lambda w: make(w)[0]), expected, "float64")


def test_sophia_estimates_the_diagonal_of_a_hessian():
    """Over many keys, the mean estimate for a Hessian that is not diagonal."""
    hessian = np.array([[4.0, 1.0, -2.0], [1.0, 3.0, 0.5], [-2.0, 0.5, 5.0]])
    weights = jnp.asarray([1.0, -1.0, 0.5])
    state, hyperparams = optim.Sophia.init(weights, 0.1, b2=0.0)

    def loss(w):
        return w @ (jnp.asarray(hessian) @ w) / 2

    def curvature(key):
        function = jax.value_and_grad(loss)
        gradients = function(weights)[1]
        _, new = hyperparams.apply(
            gradients, state, weights, value_and_gradients=function, key=key
        )
        return new.curvature

    found = jax.jit(jax.vmap(curvature))(jax.random.split(jax.random.key(1), 4000))
    np.testing.assert_allclose(found.mean(0), np.diag(hessian), atol=0.1)
    # Each estimate is one of r * H r.
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    possible = np.unique((signs * (signs @ hessian)).round(9), axis=0)
    drawn = np.unique(np.asarray(found).round(9), axis=0)
    np.testing.assert_allclose(drawn, possible, atol=1e-9)


def test_a_step_meets_the_strong_wolfe_conditions():
    """For each of many directions and lengths, in float32."""

    def meets(scale):
        weights = {"x": jnp.asarray([-1.2, 1.0, 0.7], jnp.float32)}
        function = jax.value_and_grad(rosenbrock)
        value, gradients = function(weights)
        sgd = optim.Sgd.init(weights, scale)
        state, hyperparams = optim.ZoomSearch.init(
            sgd, curvature_rtol=0.2, decrease_rtol=None
        )
        updates, _ = hyperparams.apply(
            gradients, state, weights, value=value, value_and_gradients=function
        )
        new, there = function(optim.apply_updates(weights, updates))
        slope = jnp.vdot(updates["x"], gradients["x"])
        decrease = new <= value + 1e-4 * slope
        return decrease, jnp.abs(jnp.vdot(updates["x"], there["x"])) <= -0.2001 * slope

    with jax.enable_x64(False):
        for scale in (1e-6, 1e-4, 1e-2, 1.0):
            decrease, flat = jax.jit(partial(meets, scale))()
            assert decrease
            assert flat


EXAMPLES = np.array([[1.0, -2.0, 0.5], [0.1, 0.1, 0.0], [3.0, 1.0, -4.0], [0, 0, 0]])
PRIVATE = {"x": np.array([1.0, -1.0, 0.5]), "y": np.array(0.3)}


def of_examples(weights):
    """The gradients of a regression for each example."""

    def loss(weights, x):
        return (jnp.dot(x, weights["x"]) + weights["y"] - 1.0) ** 2

    return jax.vmap(jax.grad(loss), (None, 0))(weights, jnp.asarray(EXAMPLES))


def assert_same_path(optimizer, theirs):
    """A hundred steps along the gradients of examples are those of optax."""
    weights = jax.tree.map(jnp.asarray, PRIVATE)
    state, hyperparams = optimizer

    def body(carry, _):
        ours, state, other, their_state = carry
        updates, state = hyperparams.apply(
            of_examples(ours), state, ours, key=jax.random.key(0)
        )
        ours = optim.apply_updates(ours, updates)
        updates, their_state = theirs.update(of_examples(other), their_state, other)
        other = optax.apply_updates(other, updates)
        return (ours, state, other, their_state), (ours, other)

    begin = (weights, state, weights, theirs.init(weights))
    run = jax.jit(lambda carry: jax.lax.scan(body, carry, length=100)[1])
    ours, other = run(begin)
    assert_close(ours, other, "float64")


def clipped_sgd(clip_norm):
    """Optax's mean of clipped gradients, without noise."""
    clipped = optax.contrib.differentially_private_aggregate(
        clip_norm, 0.0, jax.random.key(0)
    )
    return optax.chain(clipped, optax.sgd(0.1, momentum=0.9))


@pytest.mark.parametrize("clip_norm", [0.5, 3.0])
def test_clipping_of_examples_is_that_of_optax(clip_norm):
    inner = optim.Sgd.init(PRIVATE, 0.1, momentum=0.9)
    ours = optim.DifferentiallyPrivate.init(inner, clip_norm, 0.0)
    assert_same_path(ours, clipped_sgd(clip_norm))


@pytest.mark.parametrize("clips", [optim.ClipExamples, optim.DifferentiallyPrivate])
def test_beside_examples_that_are_clipped_others_take_their_mean(clips):
    """Weights of one group have a mean of clipped gradients, those of another the mean."""
    labels = {"x": "clipped", "y": "others"}
    noise = {} if clips is optim.ClipExamples else {"noise_multiplier": 0.0}
    inner = optim.Sgd.init(PRIVATE, 0.1, momentum=0.9)
    adam = optim.Adam.init(PRIVATE, 0.1, epsilon=1e-3)
    groups = {
        "clipped": clips.init(inner, clip_norm=0.5, **noise),
        "others": optim.AverageExamples.init(adam),
    }
    mean = optax.stateless_with_tree_map(lambda g, _: jnp.mean(g, axis=0))
    theirs: dict[Any, Any] = {
        "clipped": clipped_sgd(0.5),
        "others": optax.chain(mean, optax.adam(0.1, eps=1e-3)),
    }
    ours = optim.partition(PRIVATE, groups, labels)
    assert_same_path(ours, optax.partition(theirs, labels))


def test_the_mean_of_no_examples_moves_nothing():
    weights = {"x": jnp.ones(3)}
    state, hyperparams = optim.AverageExamples.init(optim.Sgd.init(weights, 1.0))
    updates, _ = hyperparams.apply({"x": jnp.ones((0, 3))}, state, weights)
    np.testing.assert_array_equal(updates["x"], np.zeros(3))


def test_estimates_of_the_hessian_are_products_with_signs():
    """Of every estimate r * (H r) the signs r can be told, and their mean is the diagonal."""
    hessian = np.array([[3.0, 0.5, -1.0], [0.5, 2.0, 0.25], [-1.0, 0.25, 1.0]])
    weights = {"a": jnp.array([0.5, -1.0]), "b": jnp.array([[2.0]])}

    def loss(weights):
        x = vector(weights)
        return x @ hessian @ x / 2.0 + jnp.sum(x)

    def value_and_gradients(weights):
        return jax.value_and_grad(loss)(weights)

    state, hyperparams = optim.Hutchinson.init(weights)
    _, gradients = value_and_gradients(weights)

    def estimate(key):
        updates, _ = hyperparams.apply(
            gradients, state, weights, value_and_gradients=value_and_gradients, key=key
        )
        return vector(updates)

    keys = jax.random.split(jax.random.key(0), 4000)
    estimates = np.asarray(jax.jit(jax.vmap(estimate))(keys))
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    possible = signs * (signs @ hessian)
    distances = np.abs(estimates[:, None] - possible).max(axis=-1).min(axis=-1)
    np.testing.assert_allclose(distances, 0.0, atol=1e-12)
    np.testing.assert_allclose(estimates.mean(axis=0), np.diag(hessian), atol=0.1)
    theirs = optax.contrib.hutchinson_estimator_diag_hessian(jax.random.key(0))
    other, _ = theirs.update(gradients, theirs.init(weights), weights, obj_fn=loss)
    assert np.abs(vector(other) - possible).max(axis=-1).min() < 1e-12


@pytest.mark.parametrize("clip_norm", [0.5, 3.0])
@pytest.mark.parametrize("norms", ["all", "each", "by_size"])
def test_examples_are_clipped_as_optax_clips_them(norms, clip_norm):
    weights = jax.tree.map(jnp.asarray, PRIVATE)
    state, hyperparams = optim.ClipExamples.init(
        optim.Sgd.init(weights, 1.0), clip_norm, norms
    )
    gradients = of_examples(weights)
    updates, _ = hyperparams.apply(gradients, state, weights)
    if norms == "all":
        sums, clipped = optax.per_example_global_norm_clip(gradients, clip_norm)
    else:
        sums, clipped = optax.per_example_layer_norm_clip(
            gradients, clip_norm, uniform=norms == "each"
        )
    assert any(jax.tree.leaves(clipped))
    assert_close(updates, jax.tree.map(lambda g: -g / len(EXAMPLES), sums), "float64")


def test_noise_has_the_deviation_that_it_is_told():
    weights = jnp.zeros(20000)
    inner = optim.Sgd.init(weights, 1.0)
    state, hyperparams = optim.DifferentiallyPrivate.init(inner, 0.5, 3.0)
    zeros = jnp.zeros((4, 20000))
    updates, _ = hyperparams.apply(zeros, state, weights, key=jax.random.key(0))
    np.testing.assert_allclose(updates.std(), 0.5 * 3.0 / 4, rtol=0.02)
    np.testing.assert_allclose(updates.mean(), 0.0, atol=0.01)


def test_gradients_without_examples_are_refused():
    weights = {"x": jnp.zeros(3)}
    state, hyperparams = optim.DifferentiallyPrivate.init(
        optim.Sgd.init(weights, 1.0), 0.5, 0.0
    )
    with pytest.raises(ValueError, match=r"\(examples, \*weight.shape\).*got \(3,\)"):
        hyperparams.apply(weights, state, weights, key=jax.random.key(0))
