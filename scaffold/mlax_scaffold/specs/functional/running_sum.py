import jax.numpy as jnp

from mlax_scaffold.spec import Float, Probability, dithered_sum, function


@function
def running_sum(
    old: Float["..."],
    new: Float["..."],
    dither: Float[""] | None = None,
    *,
    decay: Probability = 1.0,  #: weight of the old value
) -> Float["..."]:
    """A sum that goes on from step to step, as that of momentum: decay * old + new.

    In 16 bits, where a decay near one such as 0.999 is not a number, as
    old + (new - (1 - decay) * old), and with a `dither`, a number in [0, 1) that is
    another one in each step, the sum is rounded up or down in proportion to what is lost:
    what is below half a unit in the last place adds up. Wider dtypes ignore it.
    """
    wide = jnp.finfo(old.dtype).bits > 16
    kept, change = old, new
    # A decay that is an array may be any.
    if (decay < 0.5) is True or ((decay < 1.0) is not False and wide):
        kept = decay * old
    elif (decay < 1.0) is not False:
        change = new - (1.0 - decay) * old
    if dither is None or wide:
        return kept + change
    return dithered_sum(kept, change, jnp.broadcast_to(dither, change.shape))
