"""Words for whole trees of weights, gradients and updates."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike


def tree_dot(a: Any, b: Any, accum_dtype: DTypeLike | None = None) -> jax.Array:
    """Inner product of two trees: a scalar in the default float dtype."""
    total = jnp.zeros((), jnp.result_type(float))
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        dtype = x.dtype if accum_dtype is None else accum_dtype
        products = (x.astype(dtype) * y.astype(dtype)).ravel()
        summed = lax.reduce(products, products.dtype.type(0), lax.add, (0,))
        total = total + summed.astype(total.dtype)
    return total


def tree_where(condition: jax.Array, a: Any, b: Any) -> Any:
    """The tree `a` where a scalar condition holds, else the tree `b`."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)


def all_finite(tree: Any) -> jax.Array:
    """Whether every number of a tree is finite: a boolean scalar."""
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]
    return jnp.all(jnp.stack(finite)) if finite else jnp.asarray(True)
