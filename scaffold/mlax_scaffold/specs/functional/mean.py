import math

import jax
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
    range_scale,
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
    info = jnp.finfo(wide.dtype)
    # A power of two, and not below the smallest number of float16.
    part = 2.0 ** -min(doublings(size), 24)

    def average(x, part=part):
        total = sum(x, axis=axes, keepdims=keepdims, factor=part)
        return total * ratio(1.0 / part, size, x.dtype)

    @jax.custom_jvp
    def scaled(x):
        # Some compilers round each product of a sum, and a part of a small number is
        # none of float16.
        scale = range_scale(x, axis=axes, at_least=float(info.tiny))
        y = average(x * (1.0 / scale), min(part * 2.0**12, 1.0))
        return y * (scale if keepdims else lax.squeeze(scale, axes))

    @scaled.defjvp
    def tangent(primals, tangents):
        # The scale would be a factor of a gradient, which has a range of its own.
        return scaled(*primals), average(*tangents)

    if info.bits > 16:
        y = sum(wide, axis=axes, keepdims=keepdims) / size
    elif info.maxexp > 16:
        y = average(wide)
    else:
        y = scaled(wide)
    y = y if axis_name is None else lax.pmean(y, axis_name)
    if share is not None:
        y = y / (share if keepdims else lax.squeeze(share, axes))
    return y.astype(x.dtype)
