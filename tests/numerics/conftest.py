"""Numerical tests run with float64 at hand."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import pytest


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> jnp.dtype:
    """The dtypes in which everything is compared."""
    return jnp.dtype(request.param)
