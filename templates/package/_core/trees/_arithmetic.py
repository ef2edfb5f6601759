"""Arithmetic of whole trees."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from ..sums import weighted_sum
from ._leaves import scalar


def tree_dot(a: Any, b: Any, accum_dtype: DTypeLike | None = None) -> jax.Array:
    """Inner product of two trees: a scalar in the default float dtype.

    The products of a leaf are added up in its dtype, or in `accum_dtype`. Of finite trees
    it is finite: what is out of range counts as the largest number that is not.
    """
    total = scalar(0.0)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        dtype = x.dtype if accum_dtype is None else accum_dtype
        total = total + _dot(x.astype(dtype), y.astype(dtype))
    return within(total, 1)


def _dot(x: jax.Array, y: jax.Array) -> jax.Array:
    """Inner product of two arrays of one dtype, as a scalar in the default float dtype."""
    scale = scalar(1.0)
    if jnp.finfo(x.dtype).maxexp > 16:
        products = within(x * y, x.size)
    else:
        # The range of float16 is short: half of its numbers have no square in it.
        (x, one), (y, other) = _scaled(x), _scaled(y)
        products, scale = x * y, one * other
    axes = tuple(range(products.ndim))
    if jnp.finfo(x.dtype).bits > 16:
        total = lax.reduce(products, products.dtype.type(0), lax.add, axes)
    else:
        total = weighted_sum(products, axes)
    return scale * scalar(total)


def _scaled(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """An array over a power of two near its largest number, and what gives it back.

    Products of `n` numbers of two such arrays are at most 4 / sqrt(n).
    """
    info = jnp.finfo(x.dtype)
    root = lax.sqrt(jnp.max(lax.abs(x), initial=float(info.tiny)))
    root = lax.reduce_precision(root, info.nexp, 0)
    spread = 2.0 ** (math.log2(max(1, x.size)) // 4)
    # Not a division, which compilers join with one that `x` is the result of.
    inverse = 1.0 / root
    return x * inverse * (inverse / spread), scalar(root) ** 2 * spread


def within(x: jax.Array, count: int) -> jax.Array:
    """The nearest numbers of which a sum of so many is finite."""
    largest = float(jnp.finfo(x.dtype).max) / max(1, count)
    return jnp.clip(x, -largest, largest)


def tree_add(tree: Any, other: Any, scale: Any = 1.0) -> Any:
    """A tree plus `scale` times another, each array in the dtype of its leaf of `tree`.

    Sums out of range are the largest numbers of the dtype.
    """

    def leaf(x: jax.Array, y: jax.Array) -> jax.Array:
        factor = within(jnp.asarray(scale, x.dtype), 1)
        return within(x + factor * y.astype(x.dtype), 1)

    return jax.tree.map(leaf, tree, other)


def tree_where(condition: jax.Array, a: Any, b: Any) -> Any:
    """The tree `a` where a scalar condition holds, else the tree `b`."""
    return jax.tree.map(lambda x, y: lax.select_n(condition, y, x), a, b)


def all_finite(tree: Any) -> jax.Array:
    """Whether every number of a tree is finite: a boolean scalar."""
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]
    return jnp.all(jnp.stack(finite)) if finite else jnp.asarray(True)
