"""Layers of somebody's, as they are compared: with weights that they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

Run = Callable[..., Any]


def _as_they_are(weights: Any) -> Any:
    return weights


@dataclass(frozen=True)
class Built:
    """A layer of somebody's: its weights, and how it is run with others of the same structure."""

    weights: Any
    run: Callable[[Any], Run]
    settled: Callable[[Any], Any] = _as_they_are
    """Other weights, as they fit each other: those that are shared, or computed of others."""


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy or jax."""
    return isinstance(value, np.ndarray | jax.Array)
