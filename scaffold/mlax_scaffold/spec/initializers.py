"""The initializers that specs name: those of jax.nn.initializers, and what it does not have."""

import jax
import jax.numpy as jnp
from jax.nn import initializers
from jax.nn.initializers import (
    Initializer,
    constant,
    glorot_uniform,
    he_normal,
    lecun_normal,
    normal,
    ones,
    truncated_normal,
    uniform,
    variance_scaling,
    zeros,
)
from jax.typing import DTypeLike

__all__ = [
    "constant",
    "glorot_uniform",
    "he_normal",
    "lecun_normal",
    "normal",
    "ones",
    "orthogonal",
    "ring_phases",
    "ring_radii",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "zeros",
]


def _wide(dtype: DTypeLike | None) -> tuple[jnp.dtype, jnp.dtype]:
    """The dtype of the result, and the one to compute in: float32 or wider."""
    result = jnp.dtype(jnp.result_type(float) if dtype is None else dtype)
    return result, jnp.promote_types(result, jnp.float32)


def orthogonal(scale: float = 1.0, column_axis: int = -1) -> Initializer:
    """Orthogonal matrices, in half precision too (Saxe et al., 2013, arXiv:1312.6120).

    No QR decomposition is there below float32: it runs in float32, and is cast.
    """
    decomposed = initializers.orthogonal(scale, column_axis)

    def init(key, shape, dtype=None):
        result, wide = _wide(dtype)
        return decomposed(key, shape, wide).astype(result)

    return init


def ring_radii(min_radius: float = 0.0, max_radius: float = 1.0) -> Initializer:
    """log(-log(r)) of the radii r of points that lie uniformly in a ring.

    The distribution of the eigenvalues of a linear recurrent unit (arXiv:2303.06349).
    """

    def init(key, shape, dtype=None):
        result, wide = _wide(dtype)
        # Neither end is drawn: one has no logarithm, the other no second one.
        tiny = jnp.finfo(wide).eps
        low, high = max(min_radius**2, tiny), min(max_radius**2, 1.0 - tiny)
        square = jax.random.uniform(key, shape, wide, low, high)
        return jnp.log(-0.5 * jnp.log(square)).astype(result)

    return init


def ring_phases(max_phase: float = 6.28) -> Initializer:
    """log(angle) of angles that are uniform between 0 and `max_phase`."""

    def init(key, shape, dtype=None):
        result, wide = _wide(dtype)
        # Zero has no logarithm.
        angle = jax.random.uniform(key, shape, wide, jnp.finfo(wide).eps, 1.0)
        return jnp.log(max_phase * angle).astype(result)

    return init
