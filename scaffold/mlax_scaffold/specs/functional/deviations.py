import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    AxisName,
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
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes of the mean; None: all
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    epsilon: NonNegative = 0.0,  #: a variance that the scale suits as well
) -> tuple[Float["..."], Float["..."], Float["..."], Float["..."]]:
    """Mean m, deviation d = (x - m) / s, mean of d^2, and scale s; axes keep size 1.

    The variance is s^2 mean(d^2): in two passes, never negative, and without the
    cancellation of the mean of squares less the square of the mean. s is a power of two,
    and 1 but in float16, see `range_scale`.
    """
    half = jnp.finfo(x.dtype).bits <= 16
    # No difference of two halves is out of the range of float16.
    unit = 2.0 if jnp.finfo(x.dtype).maxexp <= 16 else 1.0
    center = mean(x, axis=axis, keepdims=True)
    center = center if axis_name is None else lax.pmean(center, axis_name)
    fixed = lax.stop_gradient(center) if half else center
    fixed = spread(fixed, x.shape)
    deviation = x - fixed if unit == 1.0 else x / unit - fixed / unit
    if half:
        # What the rounding of a large mean has left.
        rest = mean(lax.stop_gradient(deviation), axis=axis, keepdims=True)
        rest = rest if axis_name is None else lax.pmean(rest, axis_name)
        deviation = deviation - spread(rest, x.shape)
    scale = range_scale(
        deviation, axis=axis, axis_name=axis_name, at_least=0.5 * epsilon**0.5 / unit
    )
    deviation = deviation / scale
    if half:
        # The gradient of the mean goes through here, where it stays in range.
        axes = tuple(range(x.ndim)) if axis is None else axis

        @jax.custom_jvp
        def centered(x):
            rest = mean(x, axis=axes, keepdims=True)
            rest = rest if axis_name is None else lax.pmean(rest, axis_name)
            return x - spread(rest, x.shape)

        @centered.defjvp
        def tangent(primals, tangents):
            change = tangents[0] - spread_mean(tangents[0], axes, axis_name)
            return centered(primals[0]), change

        deviation = centered(deviation)
    square = mean(lax.square(deviation), axis=axis, keepdims=True)
    square = square if axis_name is None else lax.pmean(square, axis_name)
    return center, deviation, square, scale if unit == 1.0 else scale * unit
