"""Weights are compared in float64, where rounding hides no mistake."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield
