"""Every optimizer stays finite for every finite gradient, however small or large."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numerics_optimizers import FAST_COMPILATION

from mlax import optim

HALF = (0.0, 6e-8, 6.1e-5, 1.0, 1e4, 3e4, 6.5e4)
SINGLE = (0.0, 1e-45, 1e-38, 1e10, 1e30, 3e38)
SIZES = [
    *({"half": size, "single": 1.0} for size in HALF),
    *({"half": 1.0, "single": size} for size in SINGLE),
]
"""Of the gradients of a weight in float16 and of one in float32."""
DTYPES = {"half": "float16", "single": "float32"}
NAMES = sorted(name for name in optim.__all__ if name[0].isupper())
REQUIRED = {
    **dict.fromkeys(("clip_norm", "max_delta", "max_norm", "threshold"), 1.0),
    **dict.fromkeys(("clipping", "learning_rate", "noise_multiplier"), 0.1),
    **{"decay": 0.9, "every": 2, "weight_decay": 0.1},
}
OTHERS = {
    **dict.fromkeys(("adapt_lower_bound", "adaptive", "centered", "nesterov"), True),
    **dict.fromkeys(("adam_weight_decay", "weight_decay"), 0.1),
    **{"first_size": "last", "momentum": 0.9, "safeguard_warmup": True},
    **{"first_step": "learning_rate", "unbiased": True, "variant": "sps+"},
    **{"scale_init_precond": False, "consistent_rms": 0.2, "alpha": 2.0},
}
"""Hyperparameters that switch on what the defaults leave off."""


def is_matrix(path: str, weight: Any) -> bool:
    return weight.ndim > 1


def initialize(name: str, weights: Any, setting: Mapping[str, Any]) -> tuple[Any, Any]:
    """An optimizer with the hyperparameters of a setting that it has."""
    parameters = inspect.signature(getattr(optim, name).init).parameters
    inner = optim.Lbfgs if name.endswith("Search") else optim.Adam
    given: dict[str, Any] = {}
    for key, parameter in parameters.items():
        needed = parameter.default is parameter.empty
        if key == "trainables":
            given[key] = weights
        elif key == "optimizer":
            given[key] = inner.init(weights, 0.1)
        elif key == "transformations":
            clip = optim.ClipByGlobalNorm.init(weights, 1.0)
            given[key] = (clip, inner.init(weights, 0.1))
        elif key == "mask" and needed:
            given[key] = is_matrix
        elif needed:
            given[key] = REQUIRED[key]
        elif key in setting:
            given[key] = setting[key]
    return getattr(optim, name).init(**given)


def draw(seed: int, sizes: Mapping[str, float]) -> dict[str, np.ndarray]:
    """Numbers from -1 to 1, the ends and zero among them, times a size."""
    numbers = np.random.default_rng(seed).uniform(-1.0, 1.0, (4, 3))
    numbers[0] = (0.0, -1.0, 1.0)
    return {n: (numbers * size).astype(DTYPES[n]) for n, size in sizes.items()}


def draw_gradients(sizes: Mapping[str, float]) -> list[Any]:
    """Gradients of these sizes, of ordinary size, and of the opposite sign."""
    large, ordinary = draw(1, sizes), draw(2, dict.fromkeys(sizes, 1.0))
    opposite = jax.tree.map(np.negative, large)
    return [large, large, ordinary, opposite, large, ordinary]


def take(name: str, hyperparams: Any, carry: Any, gradients: Any, key: Any) -> Any:
    """The weights, as far as they are in range, and the state and the updates of a step."""
    weights, state = carry

    def value_and_gradients(moved: Any) -> tuple[jax.Array, Any]:
        change = lax.sign((moved["half"] - weights["half"])[0, 1])
        return 1.0 + 1e-3 * change.astype(jnp.float32), gradients

    given = gradients
    if name == "DifferentiallyPrivate":
        given = jax.tree.map(lambda g: jnp.stack([g, g]), gradients)
    updates, state = hyperparams.apply(
        given,
        state,
        weights,
        value=jnp.ones((), jnp.float32),
        value_and_gradients=value_and_gradients,
        key=key,
    )

    def moved(weight: jax.Array, update: jax.Array) -> jax.Array:
        bound = jnp.asarray(float(jnp.finfo(weight.dtype).max) / 4.0, weight.dtype)
        return lax.clamp(-bound, weight + update, bound)

    return (jax.tree.map(moved, weights, updates), state), updates


def assert_finite(what: str, sizes: Any, tree: Any, begin: Any) -> None:
    """All numbers of a tree are, but what was infinite from the begin."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    for (path, leaf), first in zip(leaves, jax.tree.leaves(begin), strict=True):
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            continue
        finite = np.isfinite(np.asarray(leaf, np.float64))
        finite |= np.isinf(np.asarray(first, np.float64))
        rows = zip(sizes, finite.reshape(len(sizes), -1), strict=True)
        broken = [size for size, row in rows if not row.all()]
        place = jax.tree_util.keystr(path)
        assert not broken, f"{what}: {place} with gradients of the sizes {broken}"


def assert_stays_finite(name: str, apply: Any, carry: Any, sizes: Any, steps: Any):
    """Updates and state of every step are finite, of all sizes."""
    begin, key = carry[1], jax.random.key(0)
    for number, gradients in enumerate(steps):
        carry, updates = apply(carry, gradients, key)
        what = f"{name}: step {number}"
        assert_finite(what, sizes, carry[1], begin)
        assert_finite(what, sizes, updates, jax.tree.map(np.zeros_like, updates))


@pytest.fixture(autouse=True)
def _default_dtypes() -> Any:
    """In float64 nothing of this would be at the edge."""
    with jax.enable_x64(False):
        yield


@pytest.mark.parametrize("name", NAMES)
def test_steps_are_finite(name):
    weights = jax.tree.map(jnp.asarray, draw(0, dict.fromkeys(DTYPES, 1.0)))
    state, hyperparams = initialize(name, weights, OTHERS)

    def spread(x: jax.Array) -> jax.Array:
        return jnp.broadcast_to(x, (len(SIZES), *x.shape))

    step = jax.vmap(functools.partial(take, name, hyperparams), (0, 0, None))
    step = jax.jit(step, compiler_options=FAST_COMPILATION)
    rows = [draw_gradients(sizes) for sizes in SIZES]
    steps = [
        jax.tree.map(lambda *row: np.stack(row), *step)
        for step in zip(*rows, strict=True)
    ]
    carry = jax.tree.map(spread, (weights, state))
    assert_stays_finite(name, step, carry, SIZES, steps)


@pytest.mark.parametrize("name", NAMES)
def test_steps_are_finite_one_operation_at_a_time(name):
    """A compiler may keep bits that the dtype has not, and numbers below its normal ones."""
    weights = {"half": jnp.asarray(draw(0, {"half": 1.0})["half"])}
    state, hyperparams = initialize(name, weights, {"max_steps": 2})
    step = functools.partial(take, name, hyperparams)
    for size in (6e-8, 6.5e4):
        large, _, _, opposite, *_ = draw_gradients({"half": size})
        steps = [jax.tree.map(jnp.asarray, g) for g in (large, opposite)]
        with jax.disable_jit():
            assert_stays_finite(name, step, (weights, state), [size], steps)
