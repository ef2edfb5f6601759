import math

import jax.numpy as jnp

from mlax_scaffold.spec import Axis, DType, Float, function, sum


@function
def mean(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes that are averaged; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Mean over axes, in the dtype of x, which jnp.mean widens where it has 16 bits.

    It is finite where the sum is not, as of eight times 1e4 in float16, and its error
    does not grow with the number of elements. The mean of nothing is 0.
    """
    size = x.size if axis is None else math.prod(x.shape[a] for a in axis)
    size = max(size, 1)
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    if jnp.finfo(wide.dtype).bits > 16:
        return (sum(wide, axis=axis, keepdims=keepdims) / size).astype(x.dtype)
    # A power of two, and not below the smallest number of float16.
    share = 2.0 ** -min(math.ceil(math.log2(size)), 24)
    y = sum(wide, axis=axis, keepdims=keepdims, factor=share) * (1.0 / (share * size))
    return y.astype(x.dtype)
