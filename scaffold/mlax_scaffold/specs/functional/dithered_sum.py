import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, function


@function
def dithered_sum(
    x: Float["..."], y: Float["..."], dither: Float["..."]
) -> Float["..."]:
    """X + y, rounded up or down by a dither in [0, 1) in proportion to what is lost.

    With a dither that is uniform, or another one in each of many steps, the expected
    result is the exact sum. Knuth's two-sum gives what rounding to nearest has lost; the
    gradient is that of x + y.
    """
    info = jnp.finfo(x.dtype)
    # Compilers may keep more bits of a sum than its dtype has, unless they are told.
    total = lax.reduce_precision(x + y, info.nexp, info.nmant)
    a, b, near = map(lax.stop_gradient, (x, y, total))
    part = near - a
    lost = (a - (near - part)) + (b - part)
    toward = jnp.where(lost > 0, jnp.full_like(near, jnp.inf), -jnp.inf)
    unit = lax.nextafter(near, toward) - near
    moved = abs(lost) > lax.stop_gradient(dither) * abs(unit)
    return total + jnp.where(moved, unit, 0.0)
