"""Exact ranking metrics against their definitions, by every pair and every threshold, in float64."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax import metric

RNG = np.random.default_rng(0)
SCORES: Any = np.round(RNG.normal(size=(5, 8)), 1)
"""Some of them are equal."""
LABELS: Any = RNG.integers(0, 3, size=(5, 8))
"""Those of 2 do not count."""
WHERE: Any = RNG.uniform(size=(5, 8)) < 0.7


def area(scores: Any, labels: Any) -> Any:
    pairs = scores[labels == 1][:, None] - scores[labels == 0]
    return np.mean((pairs > 0) + 0.5 * (pairs == 0))


def precision(scores: Any, labels: Any) -> Any:
    total, before = 0.0, 0.0
    for threshold in np.unique(scores)[::-1]:
        found = labels[scores >= threshold]
        recall = np.sum(found == 1) / np.sum(labels == 1)
        total += (recall - before) * np.mean(found == 1)
        before = recall
    return total


BOTH = [(metric.area_under_roc, area), (metric.average_precision, precision)]
each = pytest.mark.parametrize(("ours", "expected"), BOTH, ids=["area", "precision"])


@each
def test_it_is_what_it_is_defined_as(ours, expected):
    counts = LABELS < 2
    wanted = expected(SCORES[counts], LABELS[counts])
    np.testing.assert_allclose(jax.jit(ours)(SCORES, LABELS), wanted, rtol=1e-12)
    counts = WHERE & counts
    wanted = expected(SCORES[counts], LABELS[counts])
    scores = np.where(WHERE, SCORES, np.nan)
    np.testing.assert_allclose(ours(scores, LABELS, WHERE), wanted, rtol=1e-12)
    some = ours(SCORES, LABELS == 1, WHERE[:1])
    part = np.broadcast_to(WHERE[:1], SCORES.shape)
    wanted = expected(SCORES[part], (LABELS == 1)[part])
    np.testing.assert_allclose(some, wanted, rtol=1e-12)


@each
def test_infinite_scores_have_their_place(ours, expected):
    scores = np.array([-np.inf, 0.0, 1.0, np.inf, 2.0, np.inf])
    labels = np.array([0, 1, 0, 1, 2, 1])
    clipped = np.clip(scores, -9.0, 9.0)[labels < 2]
    wanted = expected(clipped, labels[labels < 2])
    np.testing.assert_allclose(ours(scores, labels), wanted, rtol=1e-12)


@each
def test_scores_of_16_bits_are_counted_in_float32(ours, expected):
    scores = jnp.asarray(np.linspace(0.0, 1.0, 4001), jnp.bfloat16)
    labels = RNG.integers(0, 2, size=4001)
    y = ours(scores, labels)
    assert y.dtype == jnp.float32
    wanted = expected(np.asarray(scores, np.float64), labels)
    np.testing.assert_allclose(y, wanted, rtol=1e-6)


@each
def test_what_is_not_defined_is_nan(ours, expected):
    del expected
    scores = np.array([0.0, np.nan, 1.0])
    assert jnp.isnan(ours(scores, np.array([1, 0, 1])))
    assert jnp.isnan(ours(scores, np.array([0, 1, 0])))
    assert not jnp.isnan(ours(scores, np.array([0, 2, 1])))
    assert jnp.isnan(ours(np.arange(3.0), np.zeros(3)))
    assert jnp.isnan(ours(np.zeros(0), np.zeros(0)))
    assert jnp.isnan(metric.area_under_roc(np.arange(3.0), np.ones(3)))
    assert metric.average_precision(np.arange(3.0), np.ones(3)) == 1.0


@each
def test_shapes_must_fit(ours, expected):
    del expected
    with pytest.raises(ValueError, match="scores and labels must have one shape; got"):
        ours(np.zeros(3), np.zeros(4))
    with pytest.raises(TypeError, match="scores must be a floating array"):
        ours(np.zeros(3, int), np.zeros(3))
