import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    AxisName,
    Bool,
    DType,
    Float,
    doublings,
    function,
    ratio,
    selected,
    sum,
)


@function
def mean(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes that are averaged; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Mean over axes, in the dtype of x, which jnp.mean widens where it has 16 bits.

    It is finite where the sum is not, as of eight times 1e4 in float16, and its error
    does not grow with the number of elements. With `where` it is that of the elements
    that are selected. The mean of nothing is 0.
    """
    axes = tuple(range(x.ndim)) if axis is None else axis
    size = max(math.prod(x.shape[a] for a in axes), 1)
    wide, share = x if accum_dtype is None else x.astype(accum_dtype), None
    if where is not None:
        wide, share = selected(wide, where, axes, axis_name)
    if jnp.finfo(wide.dtype).bits > 16:
        y = sum(wide, axis=axes, keepdims=keepdims) / size
    else:
        # A power of two, and not below the smallest number of float16.
        part = 2.0 ** -min(doublings(size), 24)
        y = sum(wide, axis=axes, keepdims=keepdims, factor=part)
        y = y * ratio(1.0 / part, size, y.dtype)
    y = y if axis_name is None else lax.pmean(y, axis_name)
    if share is not None:
        y = y / (share if keepdims else lax.squeeze(share, axes))
    return y.astype(x.dtype)
