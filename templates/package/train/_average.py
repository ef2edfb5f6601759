"""Averages of any tree: of weights, of a model's state, of gradients."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from .._core import checks
from ._state import wide


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "count"],
    meta_fields=["decay"],
)
@dataclass(frozen=True)
class MovingAverage:
    """An average of a tree, as it was so far: a pytree that steps carry along.

    >>> average = MovingAverage.of(trainables, decay=0.999)
    >>> average = average.update(trainables)
    >>> average.like(trainables)

    With a decay it is exponential and begins with the first tree: decay * mean + (1 - decay)
    * tree; without one it is the mean of all (Polyak & Juditsky, 1992). What is no floating
    number, such as a counter or a key, is that of the last tree. Means of numbers of 16 bits
    are in float32, in which 0.999 is not 1.

    Args:
        mean: the average.
        count: number of trees so far.
        decay: of the average; None: the mean of all.
    """

    mean: Any
    count: jax.Array
    decay: float | None = 0.999

    @classmethod
    def of(cls, tree: Any, decay: float | None = 0.999) -> MovingAverage:
        """The average of one tree.

        Raises:
            ValueError: where the decay is not from 0 to 1.
        """
        decay = checks.optional(checks.decay, "MovingAverage", decay=decay)
        return cls(jax.tree.map(_widened, tree), jnp.ones((), jnp.int32), decay)

    def update(self, tree: Any) -> MovingAverage:
        """The average with another tree of the same structure.

        Raises:
            ValueError: where it has another structure.
        """
        if jax.tree.structure(tree) != jax.tree.structure(self.mean):
            raise ValueError(
                "MovingAverage: the tree must have the structure of the first one, "
                f"{jax.tree.structure(self.mean)}, got {jax.tree.structure(tree)}"
            )
        count = jnp.minimum(self.count, jnp.iinfo(jnp.int32).max - 1) + 1

        def leaf(mean: Any, new: Any) -> Any:
            if not _is_floating(new):
                return new
            # A decay near one is not a number of 16 bits, but its complement is near one.
            share = 1.0 / count.astype(mean.dtype)
            if self.decay is not None:
                share = 1.0 - self.decay
            return mean + share * (new.astype(mean.dtype) - mean)

        return replace(self, mean=jax.tree.map(leaf, self.mean, tree), count=count)

    def like(self, tree: Any) -> Any:
        """The average in the dtypes of a tree: what to evaluate in its place."""
        return jax.tree.map(
            lambda mean, new: mean.astype(new.dtype) if _is_floating(new) else mean,
            self.mean,
            tree,
        )


MovingAverage._has_static_part = True  # type: ignore[attr-defined]  # See `exports`.


def _widened(leaf: Any) -> Any:
    # A copy, so that the tree and its average can both be donated.
    return jnp.array(leaf, wide(leaf.dtype), copy=True) if _is_floating(leaf) else leaf


def _is_floating(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jnp.floating)
