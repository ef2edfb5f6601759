import math

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Axis, DType, Float, function, range_scale, sum


@function
def mean(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes that are averaged; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Mean over axes, in the dtype of x, which jnp.mean widens where it has 16 bits.

    It is finite where the sum is not, as of eight times 1e4 in float16. The mean of
    nothing is 0.
    """
    size = x.size if axis is None else math.prod(x.shape[a] for a in axis)
    size = max(size, 1)
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    if jnp.finfo(wide.dtype).maxexp > 16:
        return (sum(wide, axis=axis, keepdims=keepdims) / size).astype(x.dtype)
    bits = math.ceil(math.log2(size))

    @jax.custom_jvp
    def average(x):
        # No factor of the float16 mean, and no partial sum, is out of its range.
        scale = range_scale(x, axis=axis)
        total = sum(x / scale * 2.0 ** (13 - bits), axis=axis, keepdims=True)
        return total * 2.0**-13 * (2**bits / size) * scale

    @average.defjvp
    def tangent(primals, tangents):
        # The scale would be a factor of a gradient, which has a range of its own.
        half = 2.0 ** (bits // 2)
        change = sum(tangents[0] / half, axis=axis, keepdims=True)
        return average(*primals), change * (half / size)

    y = average(wide)
    axes = tuple(range(x.ndim)) if axis is None else axis
    return (y if keepdims else lax.squeeze(y, axes)).astype(x.dtype)
