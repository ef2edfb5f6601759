"""What a layer that runs eagerly knows while it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.spec.draws import Draws

OFFERED = frozenset(("initialize", "initialized", "load"))
"""What a layer offers beside what its class declares, which may have these names too."""


@dataclass
class Run:
    """What one call of a layer knows."""

    training: bool
    dtype: jnp.dtype | None
    draws: Draws
    weights_dtype: jnp.dtype | None = None
    """That in which weights arrive: where no input decides it, that of what the layer is part of."""
    # Weights and states in the compute dtype. Each is cast once, so that where it is
    # read twice its gradients are added in the compute dtype.
    cast: dict[str, jax.Array] = field(default_factory=dict)


@contextmanager
def called_in(layer: Any, dtype: jnp.dtype | None) -> Iterator[None]:
    """Runs a layer in the dtype of the computation that calls it, where no input decides it."""
    before = layer._outer_
    layer._outer_ = dtype
    try:
        yield
    finally:
        layer._outer_ = before
