import math

import jax.numpy as jnp

from mlax_scaffold.spec import Axis, Bool, Float, NonNegative, function, mean


@function
def unbiasing(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes of the n elements; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    correction: NonNegative = 1.0,  #: what is subtracted from n
) -> Float["..."]:
    """Factor of an unbiased variance: n / (n - correction) of n selected elements.

    It is NaN where there are no more elements than the correction.
    """
    axes = tuple(range(x.ndim)) if axis is None else axis
    size = max(math.prod(x.shape[a] for a in axes), 1)
    ones = jnp.ones_like(x)
    if where is not None:
        ones = jnp.where(where, ones, 0.0)
    share = mean(ones, axis=axes, keepdims=keepdims)
    few = share <= correction / size
    rest = jnp.where(few, 1.0, share - correction / size)
    return jnp.where(few, jnp.nan, share / rest)
