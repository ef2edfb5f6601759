"""Words for arrays that are no function of the library."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike


def cast(tree: Any, dtype: Any) -> Any:
    """The tree with its floating leaves in `dtype`; a dtype of None changes nothing."""
    if dtype is None:
        return tree

    def leaf(x: Any) -> Any:
        return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(leaf, tree)


def stored_moments(
    mean: jax.Array, var: jax.Array, dtype: DTypeLike
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Moments in float16, which has not their range: mean / u, var / s^2, u and s.

    The scales u and s are 1 unless a moment is large. Casts to integers take such moments
    apart, so that nothing is computed in the dtype that they have.
    """
    one = jnp.ones(mean.shape, dtype)
    whole, square = mean.astype(jnp.int32), var.astype(jnp.uint32)
    parts = (whole >> 8).astype(dtype), (whole & 255).astype(dtype)
    large = lax.abs(whole) > 2**15
    unit = jnp.where(large, 256.0, one)
    mean = jnp.where(large, parts[0] + parts[1] / 256.0, mean.astype(dtype))
    large = square > 2**15
    parts = (square >> 16).astype(dtype), ((square & 65535) >> 1).astype(dtype)
    scale = jnp.where(large, 256.0, one)
    var = jnp.where(large, parts[0] + parts[1] / 32768.0, var.astype(dtype))
    return mean, var, unit, scale
