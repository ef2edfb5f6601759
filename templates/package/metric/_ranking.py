"""Metrics of how examples are ranked by a score."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.static import static
from ..functional import pair_counts
from ._metric import Metric, numbers, wide
from ._states import Count


@static
class AUC(Metric[Count]):
    """Area under the receiver operating characteristic, of scores in bins.

    The probability that an example of label 1 has a larger score than one of label 0,
    where scores in the same bin count a half: it is off by at most half the share of such
    pairs, and exact where each score has a bin of its own. Scores beyond `low` and `high` are
    in the first and in the last bin.

    NaN where there is no example of one of the two labels, or a score is NaN. Examples of
    other labels do not count. Hanley & McNeil, 1982, doi:10.1148/radiology.143.1.7063747.

    Args:
        bins: number of bins of the same width.
        low: the smallest score.
        high: the largest score.
        dtype: that of scores and the result, of 32 or 64 bits.
    """

    bins: int = 1000
    low: float = 0.0
    high: float = 1.0
    dtype: Any = jnp.float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", checks.size("AUC", bins=self.bins))
        object.__setattr__(self, "low", checks.number("AUC", low=self.low))
        object.__setattr__(self, "high", checks.number("AUC", high=self.high))
        object.__setattr__(self, "dtype", wide("AUC", self.dtype))
        checks.require(
            "AUC",
            self.low < self.high,
            "low must be below high",
            low=self.low,
            high=self.high,
        )

    def init(self) -> Count:
        """The state of no example: counts of both labels in each bin, and of NaN in one more."""
        return Count.zeros((2, self.bins + 1))

    def of(self, scores: Any, labels: Any, where: Any = None) -> Count:
        """The state of scores and labels (0 or 1, or booleans), of one shape."""
        scores = checks.floating("AUC", scores=scores).astype(self.dtype)
        share = (scores - self.low) / (self.high - self.low)
        place = jnp.clip(jnp.floor(share * self.bins), 0, self.bins - 1)
        place = jnp.where(jnp.isnan(place), self.bins, place).astype(jnp.int32)
        counts = pair_counts(
            numbers(labels), place, where, row_count=2, column_count=self.bins + 1
        )
        return Count.of(counts)

    def result(self, state: Count) -> jax.Array:
        """The area."""
        counts = state.floating(self.dtype)
        shares = counts / jnp.sum(counts, axis=1, keepdims=True)
        negative, positive = shares[0, :-1], shares[1, :-1]
        below = jnp.cumsum(negative) - negative
        area = jnp.sum(positive * (below + 0.5 * negative))
        return jnp.where(jnp.any(counts[:, -1] > 0), jnp.full_like(area, jnp.nan), area)
