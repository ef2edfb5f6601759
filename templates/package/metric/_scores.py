"""How examples are ranked by a score, of all of them at once: exactly."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.arrays import at_least


def area_under_roc(scores: Any, labels: Any, where: Any = None) -> jax.Array:
    """Area under the receiver operating characteristic of all examples, exactly.

    The probability that an example of label 1 has a larger score than one of label 0, where
    equal scores count a half. `AUC` keeps counts in bins instead, which can be merged.

    Args:
        scores: floating, of any shape.
        labels: 0 or 1, or booleans, of that shape; examples of other labels do not count.
        where: which examples count, of a shape that broadcasts; None: all.

    Returns:
        A scalar in the dtype of the scores, at least float32. NaN where there is no example
        of one of the two labels, or a score is NaN.

    Raises:
        TypeError, ValueError: where scores are not floating, or shapes differ.
    """
    scores, positive, negative = _examples("area_under_roc", scores, labels, where)
    others, count = _ranked(scores, negative)
    left = jnp.searchsorted(others, scores, side="left")
    right = jnp.minimum(jnp.searchsorted(others, scores, side="right"), count)
    below = (left.astype(scores.dtype) + right.astype(scores.dtype)) / 2.0
    mean = _mean_of(below / count.astype(scores.dtype), positive)
    return _known(mean, scores, positive | negative)


def average_precision(scores: Any, labels: Any, where: Any = None) -> jax.Array:
    """Average precision of all examples, exactly: the sum of precisions times gains in recall.

    Precisions are those at each score; equal scores have one together. Nothing is
    interpolated.

    Args:
        scores: floating, of any shape.
        labels: 0 or 1, or booleans, of that shape; examples of other labels do not count.
        where: which examples count, of a shape that broadcasts; None: all.

    Returns:
        A scalar in the dtype of the scores, at least float32. NaN where there is no example
        of label 1, or a score is NaN.

    Raises:
        TypeError, ValueError: where scores are not floating, or shapes differ.
    """
    scores, positive, negative = _examples("average_precision", scores, labels, where)

    def at_least(chosen: jax.Array) -> jax.Array:
        ranked, count = _ranked(scores, chosen)
        above = count - jnp.searchsorted(ranked, scores, side="left")
        return above.astype(scores.dtype)

    found = at_least(positive)
    share = found / (found + at_least(negative))
    return _known(_mean_of(share, positive), scores, positive | negative)


def _examples(
    owner: str, scores: Any, labels: Any, where: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Scores, and which of them are of label 1 and of label 0."""
    scores = checks.floating(owner, scores=scores)
    labels = jnp.asarray(labels)
    checks.require(
        owner,
        scores.shape == labels.shape,
        "scores and labels must have one shape",
        scores=scores.shape,
        labels=labels.shape,
    )
    counts = jnp.ones(scores.shape, bool)
    if where is not None:
        counts = jnp.broadcast_to(jnp.asarray(where, bool), scores.shape)
    wide = at_least(scores.dtype, jnp.float32)
    scores, labels, counts = (a.reshape(-1) for a in (scores, labels, counts))
    return scores.astype(wide), counts & (labels == 1), counts & (labels == 0)


def _ranked(scores: jax.Array, chosen: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Chosen scores in order, before as many infinities as there are others; their number."""
    ranked = jnp.sort(jnp.where(chosen, scores, jnp.inf))
    return ranked, jnp.sum(chosen, dtype=jnp.int32)


def _mean_of(shares: jax.Array, positive: jax.Array) -> jax.Array:
    """The mean over examples of label 1, each between 0 and 1; NaN where there is none."""
    count = jnp.sum(positive, dtype=jnp.int32)
    total = jnp.sum(jnp.where(positive, shares, jnp.zeros_like(shares)))
    return total / count.astype(shares.dtype)


def _known(mean: jax.Array, scores: jax.Array, counts: jax.Array) -> jax.Array:
    """A mean; NaN where a score that counts is."""
    unknown = jnp.any(jnp.isnan(scores) & counts)
    return jnp.where(unknown, jnp.full_like(mean, jnp.nan), mean)
