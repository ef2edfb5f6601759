import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Axis, AxisName, Float, NonNegative, function


@function
def range_scale(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes that have one scale; None: all
    axis_name: AxisName | None = None,  #: mapped axes that have one scale as well
    at_least: NonNegative = 0.0,  #: the scale is not much smaller than this
    only_float16: bool = True,  #: whether it is 1 in dtypes of a wide range
) -> Float["..."]:
    """A power of two to divide by, so that squares and sums stay in range.

    It is about half of the largest magnitude over the axes, which stay with size 1.
    Dividing by it is exact, and no gradient goes through. float16 needs it: the square
    of 256 is infinite there.
    """
    info = jnp.finfo(x.dtype)
    if only_float16 and info.maxexp > 16:
        return jnp.ones((1,) * x.ndim, x.dtype)
    fixed = lax.stop_gradient(x)
    top = jnp.max(lax.abs(fixed), axis=axis, keepdims=True, initial=0.0)
    top = top if axis_name is None else lax.pmax(top, axis_name)
    # Without a mantissa, what is left of a number is a power of two. One with an inverse
    # that is subnormal would not do: compilers divide by multiplying with that.
    scale = lax.reduce_precision(jnp.maximum(0.5 * top, at_least), info.nexp, 0)
    scale = jnp.minimum(scale, 2.0 ** (info.maxexp - 2))
    return jnp.where((scale > 0.0) & jnp.isfinite(scale), scale, 1.0)
