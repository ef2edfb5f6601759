"""Errors of numbers that are predicted, and how numbers are spread."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.static import static
from ._means import MeanState, mean_of, quotient
from ._metric import Metric, floats, mask, wide
from ._states import Count, Moments, Total


def _differences(owner: str, dtype: Any, predictions: Any, targets: Any) -> jax.Array:
    predictions = floats(owner, dtype, predictions=predictions)
    targets = floats(owner, dtype, targets=targets)
    checks.shapes(
        owner,
        {},
        predictions=(predictions, "*shape"),
        targets=(targets, "*shape"),
    )
    return predictions - targets


@static
class MeanSquaredError(Metric[MeanState]):
    """Mean of (prediction - target)^2: NaN of none.

    Args:
        dtype: that of differences, sums and the result, of 32 or 64 bits.
    """

    dtype: Any = jnp.float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", wide("MeanSquaredError", self.dtype))

    def init(self) -> MeanState:
        """The state of no number."""
        return MeanState(Total.zeros(self.dtype), Count.zeros())

    def of(self, predictions: Any, targets: Any, where: Any = None) -> MeanState:
        """The state of numbers and what they should be, of one shape."""
        owner = "MeanSquaredError"
        apart = _differences(owner, self.dtype, predictions, targets)
        return mean_of(owner, apart * apart, where)

    def result(self, state: MeanState) -> jax.Array:
        """The mean."""
        return quotient(state)


@static
class MeanAbsoluteError(Metric[MeanState]):
    """Mean of |prediction - target|: NaN of none.

    Args:
        dtype: that of differences, sums and the result, of 32 or 64 bits.
    """

    dtype: Any = jnp.float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", wide("MeanAbsoluteError", self.dtype))

    def init(self) -> MeanState:
        """The state of no number."""
        return MeanState(Total.zeros(self.dtype), Count.zeros())

    def of(self, predictions: Any, targets: Any, where: Any = None) -> MeanState:
        """The state of numbers and what they should be, of one shape."""
        owner = "MeanAbsoluteError"
        apart = _differences(owner, self.dtype, predictions, targets)
        return mean_of(owner, jnp.abs(apart), where)

    def result(self, state: MeanState) -> jax.Array:
        """The mean."""
        return quotient(state)


@static
class Variance(Metric[Moments]):
    """Variance of numbers, by their deviations from the mean: NaN of none.

    `state.mean` is their mean. Nothing is the difference of two large sums.

    Args:
        correction: what is subtracted from the number of values in the divisor; 1: unbiased.
        dtype: that of deviations, sums and the result, of 32 or 64 bits.
    """

    correction: int = 0
    dtype: Any = jnp.float32

    def __post_init__(self) -> None:
        correction = checks.count("Variance", correction=self.correction)
        object.__setattr__(self, "correction", correction)
        object.__setattr__(self, "dtype", wide("Variance", self.dtype))

    def init(self) -> Moments:
        """The state of no number."""
        return Moments.zeros(self.dtype)

    def of(self, values: Any, where: Any = None) -> Moments:
        """The state of numbers, of any shape, that `where` selects."""
        values = floats("Variance", self.dtype, values=values)
        return Moments.of(values, mask("Variance", where, values))

    def result(self, state: Moments) -> jax.Array:
        """The variance; NaN where there are no more numbers than the correction."""
        count = state.number.floating(self.dtype) - self.correction
        nan = jnp.full_like(count, jnp.nan)
        return state.squares.high / jnp.where(count > 0, count, nan)


class Residuals(NamedTuple):
    """What R2 is made of."""

    residual: Total
    """The sum of (prediction - target)^2."""
    targets: Moments


@static
class R2(Metric[Residuals]):
    """Share of the variance of targets that predictions explain: 1 - residual / total.

    Both are sums of squares. NaN where all targets are the same, or there are none.

    Args:
        dtype: that of differences, sums and the result, of 32 or 64 bits.
    """

    dtype: Any = jnp.float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", wide("R2", self.dtype))

    def init(self) -> Residuals:
        """The state of no number."""
        return Residuals(Total.zeros(self.dtype), Moments.zeros(self.dtype))

    def of(self, predictions: Any, targets: Any, where: Any = None) -> Residuals:
        """The state of numbers and what they should be, of one shape."""
        apart = _differences("R2", self.dtype, predictions, targets)
        chosen = mask("R2", where, apart)
        values = floats("R2", self.dtype, targets=targets)
        return Residuals(Total.of(apart * apart, chosen), Moments.of(values, chosen))

    def result(self, state: Residuals) -> jax.Array:
        """The share; negative where the mean of the targets predicts better."""
        total = state.targets.squares.high
        share = state.residual.high / jnp.where(total > 0, total, jnp.ones_like(total))
        return jnp.where(total > 0, 1.0 - share, jnp.full_like(share, jnp.nan))
