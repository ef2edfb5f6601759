import math

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    Bool,
    Float,
    function,
    spread,
    sum,
)


@function
def max(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes over which it is the largest; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
) -> Float["..."]:
    """Largest element over axes, whose gradient goes in equal parts to all that are.

    As jnp.max, but that in 16 bits the number of equal elements is counted exactly enough:
    the gradient of jnp.max is too large where more than 256 are equal in bfloat16.
    Elements that `where` leaves out count as -inf.
    """
    axes = tuple(range(x.ndim)) if axis is None else axis
    if where is not None:
        x = jnp.where(where, x, jnp.full_like(x, -jnp.inf))
    if jnp.finfo(x.dtype).bits > 16:
        return jnp.max(x, axis=axes, keepdims=keepdims)
    # Neither sum is out of the range of float16.
    size = math.prod(x.shape[a] for a in axes)
    factor = 0.5 ** (size.bit_length() // 2)

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
