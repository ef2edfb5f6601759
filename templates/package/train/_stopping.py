"""When to stop: a value that no longer gets better."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from .._core import checks


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["best", "waited"],
    meta_fields=["patience", "min_delta", "larger_is_better"],
)
@dataclass(frozen=True)
class EarlyStopping:
    """Whether a measured value still gets better: a pytree, that can be saved beside a state.

    >>> stopping = EarlyStopping(patience=2)
    >>> for value in (1.0, 0.5, 0.75, 0.625):
    ...     stopping = stopping.update(value)
    >>> stopping.should_stop, stopping.best
    (True, 0.5)

    Args:
        patience: how many updates in a row may be no better than the best one.
        min_delta: by how much a value has to be better in order to count.
        larger_is_better: of an accuracy, not of a loss.
        best: the best value so far, in float32; NaN: there is none.
        waited: number of updates since.

    Raises:
        ValueError: where an argument is not what it may be.
    """

    patience: int
    min_delta: float = 0.0
    larger_is_better: bool = False
    best: float = math.nan
    waited: int = 0

    def __post_init__(self) -> None:
        checks.size("EarlyStopping", patience=self.patience)
        checks.non_negative("EarlyStopping", min_delta=self.min_delta)
        checks.boolean("EarlyStopping", larger_is_better=self.larger_is_better)

    def update(self, value: Any) -> EarlyStopping:
        """What is known after another value; one that is NaN is no better than any."""
        value = float(np.float32(value))
        if self._is_better(value):
            return replace(self, best=value, waited=0)
        return replace(self, waited=self.waited + 1)

    @property
    def should_stop(self) -> bool:
        """Whether the patience is over."""
        return self.waited >= self.patience

    @property
    def has_improved(self) -> bool:
        """Whether the last value was the best one: the time to save."""
        return self.waited == 0 and not math.isnan(self.best)

    def _is_better(self, value: float) -> bool:
        if math.isnan(self.best):
            return not math.isnan(value)
        gain = value - self.best if self.larger_is_better else self.best - value
        return gain > self.min_delta


EarlyStopping._has_static_part = True  # type: ignore[attr-defined]  # See `exports`.
