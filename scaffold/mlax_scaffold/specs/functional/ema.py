import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Probability, function


@function
def ema(
    old: Float["..."],
    new: Float["..."],
    dither: Float[""] | None = None,
    *,
    decay: Probability,  #: weight of the old value
) -> Float["..."]:
    """Exponential moving average: decay * old + (1 - decay) * new.

    As old + (1 - decay) * (new - old): a decay near one, such as 0.999, is not a number
    of 16 bits, but its complement is near one.

    In 16 bits, a step below half a unit in the last place is lost to rounding: with a
    decay of 0.999 an average in bfloat16 never falls. With a `dither`, a number in
    [0, 1) that is another one in each step, the sum is rounded up or down in proportion
    to what is lost, so that the average follows. Wider dtypes ignore it.
    """
    change = (1.0 - decay) * (new - old)
    info = jnp.finfo(old.dtype)
    if dither is None or info.bits > 16:
        return old + change
    # Compilers may keep more bits of a sum than its dtype has, unless they are told.
    rounded = lax.reduce_precision(old + change, info.nexp, info.nmant)
    a, b, total = map(lax.stop_gradient, (old, change, rounded))
    part = total - a
    lost = (a - (total - part)) + (b - part)
    toward = jnp.where(lost > 0, jnp.full_like(total, jnp.inf), -jnp.inf)
    unit = lax.nextafter(total, toward) - total
    return rounded + jnp.where(abs(lost) > dither * abs(unit), unit, 0.0)
