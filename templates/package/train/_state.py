"""All that a training step changes, in one pytree."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .._core import checks, placement
from .._core.static import InitializedOptimizer


class State(NamedTuple):
    """All that a training step changes. What it does not change is in the step itself."""

    trainables: Any
    """The weights that have gradients."""
    non_trainables: Any
    """Averages, counters, seeds: what the model's own state is, and what is frozen."""
    optimizer: Any
    """The state of the optimizer."""
    key: jax.Array
    """The PRNG key that the keys of all steps come from. It stays as it is."""
    step: jax.Array
    """Number of steps so far."""
    average: Any
    """An exponential moving average of the weights, or None."""


def init(
    trainables: Any,
    non_trainables: Any,
    optimizer: InitializedOptimizer,
    key: jax.Array,
    *,
    average: bool = False,
) -> State:
    """The state before the first step.

    Of modules, `trainables` and `non_trainables` are the halves that `params.split()` returns.

    Args:
        trainables: the weights.
        non_trainables: the model's state.
        optimizer: what `init` of an optimizer returned for these weights.
        key: a PRNG key.
        average: whether an average of the weights is kept, for which `step` has a decay. It
            begins with the weights, and is in float32 where these have 16 bits.

    Raises:
        ValueError, TypeError: where the optimizer is not initialized, or the key is none.
    """
    state, _ = checks.sub_optimizer("train.init", optimizer=optimizer)
    return State(
        trainables,
        non_trainables,
        state,
        _checked_key(key),
        placement.create_count(trainables),
        jax.tree.map(_widened, trainables) if average else None,
    )


def averaged(state: State) -> Any:
    """The average of the weights, in their dtypes: what to evaluate in their place.

    Raises:
        ValueError: where the state has none.
    """
    if state.average is None:
        raise ValueError(
            "train.averaged: the state has no average; create it with "
            "train.init(..., average=True) and give train.step a decay"
        )
    return jax.tree.map(
        lambda mean, weight: mean.astype(weight.dtype), state.average, state.trainables
    )


def moved_average(average: Any, trainables: Any, decay: float) -> Any:
    """The average after a step: decay * average + (1 - decay) * weights."""

    def leaf(mean: jax.Array, weight: jax.Array) -> jax.Array:
        # A decay near one is not a number of 16 bits, but its complement is near one.
        return mean + (1.0 - decay) * (weight.astype(mean.dtype) - mean)

    return jax.tree.map(leaf, average, trainables)


def wide(dtype: Any) -> Any:
    """The dtype in which small terms are added to numbers of a dtype: 16 bits are too few."""
    return jnp.float32 if jnp.finfo(dtype).bits <= 16 else dtype


def _widened(weight: jax.Array) -> jax.Array:
    # A copy, so that weights and average can both be donated.
    return placement.copied(weight, wide(weight.dtype))


def is_key(leaf: Any) -> bool:
    """Whether it is an array of PRNG keys."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _checked_key(key: Any) -> jax.Array:
    raw = hasattr(key, "dtype") and key.dtype == jnp.uint32 and key.ndim == 1
    if not raw and not (is_key(key) and key.shape == ()):
        raise TypeError(
            f"train.init: key must be one PRNG key, such as jax.random.key(0), got {key!r}"
        )
    return key
