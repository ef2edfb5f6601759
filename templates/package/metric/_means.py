"""Means over examples."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.static import static
from ..functional import in_top_k
from ..loss import softmax_cross_entropy_with_integer_labels
from ._metric import Metric, floats, mask, wide
from ._states import Count, Total, counted


class MeanState(NamedTuple):
    """What a mean is made of."""

    total: Total
    number: Count


class Shares(NamedTuple):
    """What a share of examples is made of."""

    hits: Count
    number: Count


def mean_of(owner: str, values: jax.Array, where: Any) -> MeanState:
    """The state of the values that a mask selects."""
    chosen = mask(owner, where, values)
    return MeanState(Total.of(values, chosen), counted(values, chosen))


def quotient(state: MeanState) -> jax.Array:
    """The mean, NaN of nothing."""
    return state.total.high / state.number.floating(state.total.high.dtype)


@static
class Mean(Metric[MeanState]):
    """Mean of numbers, such as losses: NaN of none.

    Sums have twice the digits of the dtype and counts are integers, so that the mean of
    float32 numbers is exact to 2^-22 of the mean of their sizes, however many batches
    there are (up to 2^47 numbers).

    >>> mean = Mean()
    >>> state = mean.update(mean.init(), jnp.array([1.0, 2.0, 6.0]))
    >>> float(mean.result(state))
    3.0

    Args:
        dtype: that of sums and of the result, of 32 or 64 bits.
    """

    dtype: Any = jnp.float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", wide("Mean", self.dtype))

    def init(self) -> MeanState:
        """The state of no number."""
        return MeanState(Total.zeros(self.dtype), Count.zeros())

    def of(self, values: Any, where: Any = None) -> MeanState:
        """The state of numbers, of any shape, that `where` selects."""
        return mean_of("Mean", floats("Mean", self.dtype, values=values), where)

    def result(self, state: MeanState) -> jax.Array:
        """The mean."""
        return quotient(state)


@static
class Accuracy(Metric[Shares]):
    """Share of examples whose label is among the k classes with the largest logits.

    NaN of no example. Of equal logits the class with the smaller number comes first; what
    is no class, or has a logit that is NaN, is wrong. Both numbers are integers, exact up
    to 2^47.

    >>> accuracy = Accuracy()
    >>> logits = jnp.array([[0.5, 2.0], [1.0, 0.0]], jnp.bfloat16)
    >>> state = accuracy.update(accuracy.init(), logits, jnp.array([1, 1]))
    >>> float(accuracy.result(state))
    0.5

    Args:
        k: number of classes among which the label has to be.
        dtype: that of the result, of 32 or 64 bits.
    """

    k: int = 1
    dtype: Any = jnp.float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.size("Accuracy", k=self.k))
        object.__setattr__(self, "dtype", wide("Accuracy", self.dtype))

    def init(self) -> Shares:
        """The state of no example."""
        return Shares(Count.zeros(), Count.zeros())

    def of(self, logits: Any, labels: Any, where: Any = None) -> Shares:
        """The state of logits (*batch, classes) and integer labels (*batch)."""
        hits = in_top_k(logits, labels, k=self.k)
        chosen = mask("Accuracy", where, hits)
        hit = hits if chosen is None else hits & chosen
        return Shares(Count.of(jnp.sum(hit, dtype=jnp.int32)), counted(hits, chosen))

    def result(self, state: Shares) -> jax.Array:
        """The share."""
        return state.hits.floating(self.dtype) / state.number.floating(self.dtype)


@static
class Perplexity(Metric[MeanState]):
    """Exponential of the mean cross-entropy of classes by number: NaN of no example.

    Args:
        dtype: that of cross-entropies, sums and the result, of 32 or 64 bits.
    """

    dtype: Any = jnp.float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", wide("Perplexity", self.dtype))

    def init(self) -> MeanState:
        """The state of no example."""
        return MeanState(Total.zeros(self.dtype), Count.zeros())

    def of(self, logits: Any, labels: Any, where: Any = None) -> MeanState:
        """The state of logits (*batch, classes) and integer labels (*batch)."""
        logits = checks.floating("Perplexity", logits=logits).astype(self.dtype)
        losses = softmax_cross_entropy_with_integer_labels(logits, labels)
        return mean_of("Perplexity", losses, where)

    def result(self, state: MeanState) -> jax.Array:
        """The perplexity."""
        return jnp.exp(quotient(state))
