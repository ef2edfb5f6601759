"""Weights are compared in float64, where rounding hides no mistake."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def _quickly_compiled() -> Iterator[None]:
    """Each function runs once, so that optimizing it is not worth its time."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
