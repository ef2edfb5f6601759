import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    AxisName,
    Bool,
    Float,
    NonNegative,
    function,
    mean,
    range_scale,
    spread,
    spread_mean,
)


@function
def deviations(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes of the mean; None: all
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    epsilon: NonNegative = 0.0,  #: a variance that the scale suits as well
) -> tuple[Float["..."], Float["..."], Float["..."], Float["..."]]:
    """Mean m, deviation d = (x - m) / s, mean of d^2, and scale s; axes keep size 1.

    The variance is s^2 mean(d^2): in two passes, never negative, and without the
    cancellation of the mean of squares less the square of the mean. s is a power of two,
    and 1 but in float16, see `range_scale`. Both means are of what `where` selects.
    """
    half = jnp.finfo(x.dtype).bits <= 16
    # No difference of two halves is out of the range of float16.
    unit = 2.0 if jnp.finfo(x.dtype).maxexp <= 16 else 1.0
    center = mean(x, where, axis=axis, keepdims=True, axis_name=axis_name)
    fixed = lax.stop_gradient(center) if half else center
    fixed = spread(fixed, x.shape)
    deviation = x - fixed if unit == 1.0 else x / unit - fixed / unit
    if half:
        # What the rounding of a large mean has left.
        left = lax.stop_gradient(deviation)
        rest = mean(left, where, axis=axis, keepdims=True, axis_name=axis_name)
        deviation = deviation - spread(rest, x.shape)
    scale = range_scale(
        deviation, axis=axis, axis_name=axis_name, at_least=0.5 * epsilon**0.5 / unit
    )
    deviation = deviation / scale
    if half:
        # The gradient of the mean goes through here, where it stays in range.
        axes = tuple(range(x.ndim)) if axis is None else axis

        @jax.custom_jvp
        def centered(x, where):
            rest = mean(x, where, axis=axes, keepdims=True, axis_name=axis_name)
            return x - spread(rest, x.shape)

        @centered.defjvp
        def tangent(primals, tangents):
            mean_change = spread_mean(tangents[0], axes, axis_name, primals[1])
            return centered(*primals), tangents[0] - mean_change

        deviation = centered(deviation, where)
    square = lax.square(deviation)
    square = mean(square, where, axis=axis, keepdims=True, axis_name=axis_name)
    return center, deviation, square, scale if unit == 1.0 else scale * unit
