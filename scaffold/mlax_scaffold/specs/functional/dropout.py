import jax.numpy as jnp

from mlax_scaffold.spec import Axis, Float, Key, Probability, bernoulli, function


@function
def dropout(
    x: Float["..."],
    key: Key,
    *,
    rate: Probability,  #: probability that an element is dropped
    broadcast_axis: Axis = (),  #: axes along which elements are dropped together
) -> Float["..."]:
    """Sets elements to zero at random, and scales the others by 1 / (1 - rate).

    Srivastava et al., 2014, JMLR 15(56). The mask takes no float, see `bernoulli`. The
    key may be None where the rate is 0 or 1.
    """
    if rate == 0.0:
        return x
    if rate == 1.0:
        return jnp.zeros_like(x)
    together = {axis % x.ndim for axis in broadcast_axis}
    shape = tuple(1 if a in together else n for a, n in enumerate(x.shape))
    keep = bernoulli(key, shape=shape, p=1.0 - rate)
    return jnp.where(keep, x / (1.0 - rate), 0.0)
