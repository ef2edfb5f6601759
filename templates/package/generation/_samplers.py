"""How a token is chosen."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.static import static
from ..functional import (
    categorical,
    min_p_logits,
    repetition_penalty,
    top_k_logits,
    top_p_logits,
)


@static
class Sampler:
    """Draws a token of each row, from what is left of its logits.

    In this order: `repetition` makes tokens of the sequence less probable, the
    temperature divides, and what `top_k`, `top_p` and `min_p` leave out is never drawn.
    """

    temperature: float = 1.0
    """By which logits are divided; 0: the most probable token is taken."""
    top_k: int | None = None
    """So many of the most probable tokens stay; None: all."""
    top_p: float | None = None
    """Those that have this probability together stay; None: all."""
    min_p: float | None = None
    """Those with this share of the best one's probability stay; None: all."""
    repetition: float | None = None
    """See `functional.repetition_penalty`; None: none."""

    def __post_init__(self) -> None:
        name, optional = "Sampler", checks.optional
        checks.non_negative(name, temperature=self.temperature)
        optional(checks.size, name, top_k=self.top_k)
        optional(checks.probability, name, top_p=self.top_p)
        optional(checks.probability, name, min_p=self.min_p)
        optional(checks.positive, name, repetition=self.repetition)

    def __call__(self, logits: jax.Array, key: Any, tokens: jax.Array) -> jax.Array:
        """A token of each row.

        Args:
            logits: floating (rows, classes).
            key: PRNG key; None will do where the temperature is 0.
            tokens: integer (rows, n), of the sequences so far; negative: none.
        """
        if self.repetition is not None:
            logits = repetition_penalty(logits, tokens, penalty=self.repetition)
        if self.temperature == 0.0:
            return categorical(logits, key, temperature=0.0)
        # Less the largest one, a quotient beyond the range of the dtype is never drawn.
        top = jnp.max(logits, axis=-1, keepdims=True)
        logits = logits - jnp.where(jnp.isfinite(top), top, jnp.zeros_like(top))
        logits = logits / max(self.temperature, float(jnp.finfo(logits.dtype).tiny))
        if self.top_k is not None:
            logits = top_k_logits(logits, k=min(self.top_k, logits.shape[-1]))
        if self.top_p is not None:
            logits = top_p_logits(logits, p=self.top_p)
        if self.min_p is not None:
            logits = min_p_logits(logits, p=self.min_p)
        return categorical(logits, key)
