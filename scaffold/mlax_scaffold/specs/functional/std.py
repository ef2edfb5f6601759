import math

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    NonNegative,
    function,
    mean,
    range_scale,
    ratio,
    selected,
    spread,
    sum,
    unbiasing,
)


@function
def std(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes of the deviation; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    correction: NonNegative = 0.0,  #: divides by n - correction; 1: unbiased
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Standard deviation, in the dtype of x, which jnp.std widens: see `var`.

    Where everything is the same it is 0, and so is its gradient, in the place of NaN.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    axes = tuple(range(x.ndim)) if axis is None else axis
    size = max(math.prod(x.shape[a] for a in axes), 1)

    def parts(x, where):
        """The deviation, and the standard scores, which make its gradient."""
        scores = x - spread(mean(x, where, axis=axes, keepdims=True), x.shape)
        if jnp.finfo(x.dtype).bits <= 16:
            # What the rounding of a large mean has left.
            rest = mean(scores, where, axis=axes, keepdims=True)
            scores = scores - spread(rest, x.shape)
        if where is not None:
            scores = jnp.where(where, scores, 0.0)
        scale = range_scale(scores, axis=axes, only_float16=False)
        scores = scores / scale
        square = mean(lax.square(scores), where, axis=axes, keepdims=True)
        root = lax.sqrt(jnp.where(square == 0.0, 1.0, square))
        return jnp.where(square == 0.0, 0.0, root * scale), scores / spread(
            root, x.shape
        )

    @jax.custom_jvp
    def root(x, where):
        return parts(x, where)[0]

    @root.defjvp
    def tangent(primals, tangents):
        # The scale would be a factor of a gradient, which has a range of its own.
        y, scores = parts(*primals)
        half = 2.0 ** ((size.bit_length() if isinstance(size, int) else 8) // 2)

        def average(x):
            share = None
            if primals[1] is not None:
                x, share = selected(x, primals[1], axes)
            total = sum(x / half, axis=axes, keepdims=True) * ratio(half, size, x.dtype)
            return total if share is None else total / share

        # Without their mean, the rounding of the mean of x would be in every score.
        scores = scores - spread(average(scores), scores.shape)
        return y, average(scores * tangents[0])

    y = root(wide, where)
    if correction > 0.0:
        y = y * lax.sqrt(
            unbiasing(wide, where, axis=axes, keepdims=True, correction=correction)
        )
    return (y if keepdims else lax.squeeze(y, axes)).astype(x.dtype)
