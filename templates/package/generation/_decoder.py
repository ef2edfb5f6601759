"""A model with a cache: what it computes, and where in its state the cache is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from .._core.static import static

KEPT, COUNTER = -1, -2
"""Of a leaf of the state: it is none of the cache, or it counts for all rows."""
FIELDS = ("max_length", "batch", "cache_dtype")
"""The hyperparameters of a layer with a cache."""


@static
class Decoder:
    """A model that continues sequences, as `of_pair` and `of_module` make it.

    It is static: hashable, and an argument of compiled functions. The cache is a tree of
    arrays of fixed shapes, so that loops carry it, and no call changes it: a cache from
    before continues the sequence in another way.
    """

    call: Callable[..., Any]
    """(weights, cache, tokens) -> (logits, cache)."""
    axes: tuple[int, ...]
    """The axis of the rows in each leaf of the cache; negative where it has none."""
    rows: int
    """Number of sequences that are decoded together."""
    max_length: int
    """Positions for which there is room."""

    def prefill(self, weights: Any, cache: Any, tokens: jax.Array) -> tuple[Any, Any]:
        """Logits of what follows some tokens, all at once, and the cache with them.

        Args:
            weights: of the model.
            cache: with what came before.
            tokens: integer (rows, n).

        Returns:
            `(logits, cache)`; logits are (rows, classes).
        """
        shape = jnp.shape(tokens)
        if len(shape) != 2 or shape[0] != self.rows or shape[1] < 1:
            raise ValueError(
                f"Decoder: tokens must be of shape ({self.rows}, n), since the cache is of "
                f"{self.rows} rows, got {shape}; of_pair and of_module make one of others"
            )
        logits, cache = self.call(weights, cache, tokens)
        return logits[:, -1], cache

    def step(self, weights: Any, cache: Any, token: jax.Array) -> tuple[Any, Any]:
        """Logits of what follows one token of each row, and the cache with it.

        Args:
            weights: of the model.
            cache: with what came before.
            token: integer (rows,).
        """
        return self.prefill(weights, cache, jnp.asarray(token)[..., None])

    def reset(self, cache: Any) -> Any:
        """The cache of sequences that begin; other state of the model stays."""
        return self._mapped(cache, lambda x, _: jnp.zeros_like(x), jnp.zeros_like)

    def reorder(self, cache: Any, rows: jax.Array) -> Any:
        """The cache in which row i is what row `rows[i]` was: integer (rows,)."""
        if jnp.shape(rows) != (self.rows,):
            raise ValueError(
                f"Decoder: rows must be of shape ({self.rows},), got {jnp.shape(rows)}"
            )
        return self._mapped(cache, lambda x, axis: jnp.take(x, rows, axis), lambda x: x)

    def _mapped(self, cache: Any, of_rows: Any, of_counters: Any) -> Any:
        leaves, structure = jax.tree.flatten(cache)
        if len(leaves) != len(self.axes):
            raise ValueError(
                f"Decoder: the cache must have {len(self.axes)} arrays, as that which came "
                f"with the decoder, got {len(leaves)}"
            )
        made = []
        for leaf, axis in zip(leaves, self.axes, strict=True):
            if axis == KEPT:
                made.append(leaf)
            elif axis == COUNTER:
                made.append(of_counters(leaf))
            else:
                made.append(of_rows(leaf, axis))
        return structure.unflatten(made)


class Slot:
    """In the place of an array of a cache: its shape, its dtype, and the axis of its rows."""

    def __init__(
        self,
        struct: jax.ShapeDtypeStruct,
        stack: tuple[int, ...],
        rows: int,
        dtype: DTypeLike,
    ) -> None:
        floating = jnp.issubdtype(struct.dtype, jnp.floating)
        self.dtype = jnp.dtype(dtype) if floating else struct.dtype
        self.shape = (*stack, *struct.shape)
        has_rows = struct.shape[:1] == (rows,)
        self.axis = len(stack) if has_rows else COUNTER

    def zeros(self) -> jax.Array:
        """What a cache begins with."""
        return jnp.zeros(self.shape, self.dtype)


def kept_dtype(given: Any, weights: Any) -> DTypeLike:
    """The dtype of a cache: what is given, else that of the weights."""
    if given is not None:
        return jnp.dtype(given)
    floats = (w.dtype for w in weights if jnp.issubdtype(w.dtype, jnp.floating))
    return next(floats, jnp.dtype(jnp.float32))


def stack_of(weights: Any, outlined: Any) -> tuple[int, ...]:
    """The axes that a loop over layers puts before those of one layer."""
    for weight, one in zip(weights, outlined, strict=True):
        return tuple(weight.shape[: len(weight.shape) - len(one.shape)])
    return ()


def without_cache(owner: str, model: str) -> ValueError:
    """What is raised for a model that has no layer with a cache."""
    return ValueError(
        f"generation.{owner}: no layer of {model} can have a cache, as "
        f"MultiHeadAttention can: one with the hyperparameters {', '.join(FIELDS)}"
    )
