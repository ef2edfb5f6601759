"""jax whose random numbers are their means, as those of a layer in inference are here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp


def _normal(key: Any, shape: Any = (), dtype: Any = float, **_: Any) -> jax.Array:
    return jnp.zeros(shape, dtype)


def _truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Any = (), dtype: Any = float, **_: Any
) -> jax.Array:
    return jnp.zeros(shape, dtype)


def _uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = float,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    **_: Any,
) -> jax.Array:
    return jnp.zeros(shape, dtype) + jnp.asarray(0.5 * (minval + maxval), dtype)


_FUNCTIONS = {
    "normal": _normal,
    "truncated_normal": _truncated_normal,
    "uniform": _uniform,
}


@contextmanager
def means_of_jax() -> Iterator[None]:
    """Let what `jax.random` draws from a normal or a uniform distribution be its mean meanwhile.

    What the library itself draws, as rules that begin weights do, stays drawn.
    """
    kept = {title: getattr(jax.random, title) for title in _FUNCTIONS}
    try:
        for title, function in _FUNCTIONS.items():
            setattr(jax.random, title, function)
        yield
    finally:
        for title, function in kept.items():
            setattr(jax.random, title, function)
