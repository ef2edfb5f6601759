import math

import jax
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    AxisName,
    Bool,
    DType,
    Float,
    deviations,
    function,
    ratio,
    selected,
    spread,
    sum,
)


@function
def moments(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes of the moments; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> tuple[Float["..."], Float["..."]]:
    """Mean and (biased) variance, of the elements that `where` selects.

    In two passes: the variance is the mean of (x - mean)^2, which is never negative and
    does not cancel as the mean of squares less the square of the mean does.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    axes = tuple(range(x.ndim)) if axis is None else axis
    size = max(math.prod(x.shape[a] for a in axes), 1)

    @jax.custom_jvp
    def both(x, where):
        center, _, square, scale = deviations(x, where, axis=axes, axis_name=axis_name)
        return center, square * scale * scale

    @both.defjvp
    def tangent(primals, tangents):
        # The scale would be a factor of a gradient, which has a range of its own.
        center, deviation, square, scale = deviations(
            *primals, axis=axes, axis_name=axis_name
        )
        half = 2.0 ** ((size.bit_length() if isinstance(size, int) else 8) // 2)

        def average(x):
            share = None
            if primals[1] is not None:
                x, share = selected(x, primals[1], axes, axis_name)
            total = sum(x, axis=axes, keepdims=True) * ratio(half, size, x.dtype)
            total = total if axis_name is None else lax.pmean(total, axis_name)
            return total if share is None else total / share

        # The rounding of the mean is in every deviation, and in their mean.
        rest = spread(average(deviation / half), deviation.shape)
        slope = (deviation - rest) * spread(scale, rest.shape) * (2.0 / half)
        shift, growth = average(tangents[0] / half), average(slope * tangents[0])
        return (center, square * scale * scale), (shift, growth)

    mean, var = both(wide, where)
    if not keepdims:
        mean, var = lax.squeeze(mean, axes), lax.squeeze(var, axes)
    return mean.astype(x.dtype), var.astype(x.dtype)
