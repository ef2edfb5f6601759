import math

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    Bool,
    Real,
    function,
    spread,
    sum,
)


@function
def max(
    x: Real["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes over which it is the largest; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
) -> Real["..."]:
    """Largest element over axes, whose gradient goes in equal parts to all that are.

    As jnp.max, but that in 16 bits the number of equal elements is counted exactly enough:
    the gradient of jnp.max is too large where more than 256 are equal in bfloat16.
    Elements that `where` leaves out count as -inf, or as the smallest integer.
    """
    axes = tuple(range(x.ndim)) if axis is None else axis
    floating = jnp.issubdtype(x.dtype, jnp.floating)
    if where is not None:
        least = -math.inf if floating else jnp.iinfo(x.dtype).min
        x = jnp.where(where, x, least)
    if not floating or jnp.finfo(x.dtype).bits > 16:
        return jnp.max(x, axis=axes, keepdims=keepdims)
    # Neither sum is out of the range of float16.
    size = math.prod(x.shape[a] for a in axes)
    factor = 0.5 ** ((size.bit_length() if isinstance(size, int) else 8) // 2)

    @jax.custom_jvp
    def largest(x):
        return jnp.max(x, axis=axes, keepdims=True)

    @largest.defjvp
    def tangent(primals, tangents):
        y = largest(*primals)
        chosen = (primals[0] == spread(y, x.shape)).astype(x.dtype)
        count = sum(chosen, axis=axes, keepdims=True, factor=factor)
        change = sum(chosen * tangents[0], axis=axes, keepdims=True, factor=factor)
        return y, change / count

    y = largest(x)
    return y if keepdims else lax.squeeze(y, axes)
