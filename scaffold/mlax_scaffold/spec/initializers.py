"""The initializers that specs name: those of jax.nn.initializers, and the library's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.nn.initializers import (
    constant,
    glorot_normal,
    glorot_uniform,
    he_normal,
    he_uniform,
    kaiming_normal,
    kaiming_uniform,
    lecun_normal,
    lecun_uniform,
    ones,
    uniform,
    variance_scaling,
    xavier_normal,
    xavier_uniform,
    zeros,
)

Initializer = Callable[..., jax.Array]


def normal(stddev: float = 0.02) -> Initializer:
    """Normal numbers of mean 0."""

    def init(key: Any, shape: Any, dtype: Any = float) -> jax.Array:
        # Some versions of jax compile the product, and then round it once less.
        return stddev * jax.random.normal(key, shape, dtype)

    return init


def orthogonal(scale: float = 1.0, column_axis: int = -1) -> Initializer:
    """Orthonormal columns or rows; made in float32 where the dtype is narrower."""
    initialize = jax.nn.initializers.orthogonal(scale, column_axis)

    def init(key: Any, shape: Any, dtype: Any = float) -> jax.Array:
        computed = dtype if jnp.dtype(dtype).itemsize >= 4 else jnp.float32
        return initialize(key, shape, computed).astype(dtype)

    return init


def delta_orthogonal(scale: float = 1.0, channel_last: bool = False) -> Initializer:
    """The kernel of a convolution that maps each place orthogonally to itself."""

    def init(key: Any, shape: Any, dtype: Any = float) -> jax.Array:
        in_axis = -1 if channel_last else 1
        matrix = orthogonal(scale)(key, (shape[0], shape[in_axis]), dtype)
        spatial = shape[1:-1] if channel_last else shape[2:]
        kernel = jnp.zeros((*spatial, *matrix.shape), matrix.dtype)
        kernel = kernel.at[tuple((size - 1) // 2 for size in spatial)].set(matrix)
        return jnp.moveaxis(kernel, (-2, -1), (0, in_axis))

    return init


def truncated_normal(
    stddev: float = 0.02, lower: float = -2.0, upper: float = 2.0
) -> Initializer:
    """Normal numbers, none beyond the bounds, which are in units of `stddev`."""
    return jax.nn.initializers.truncated_normal(stddev, lower=lower, upper=upper)


def per_gate(initializer: Initializer, gates: int, axis: int = -1) -> Initializer:
    """Each of `gates` equal parts of an axis by itself, with a key of its own."""

    def init(key: Any, shape: Any, dtype: Any = float) -> jax.Array:
        part = list(shape)
        part[axis] //= gates
        keys = jax.random.split(key, gates)
        return jnp.concatenate([initializer(k, part, dtype) for k in keys], axis)

    return init


def ring_radii(min_radius: float = 0.0, max_radius: float = 1.0) -> Initializer:
    """log(-log(r)) of the radii r of points that lie uniformly in a ring."""

    def init(key: Any, shape: Any, dtype: Any = float) -> jax.Array:
        computed = dtype if jnp.dtype(dtype).itemsize >= 4 else jnp.float32
        tiny = float(jnp.finfo(computed).eps)
        low, high = max(min_radius**2, tiny), min(max_radius**2, 1.0 - tiny)
        square = jax.random.uniform(key, shape, computed, low, high)
        return jnp.log(-0.5 * jnp.log(square)).astype(dtype)

    return init


def ring_phases(max_phase: float = 6.28) -> Initializer:
    """log(angle) of angles that are uniform between 0 and `max_phase`."""

    def init(key: Any, shape: Any, dtype: Any = float) -> jax.Array:
        computed = dtype if jnp.dtype(dtype).itemsize >= 4 else jnp.float32
        tiny = float(jnp.finfo(computed).eps)
        angle = jax.random.uniform(key, shape, computed, tiny, 1.0)
        return jnp.log(max_phase * angle).astype(dtype)

    return init


__all__ = [
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "per_gate",
    "ring_phases",
    "ring_radii",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]
