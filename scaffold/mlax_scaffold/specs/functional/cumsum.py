import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Axis, DType, Float, function, spread

BLOCK = 128


def cumulated(x):
    """Sums along the last axis of 16-bit numbers, which are finite.

    Those of a block are a product, which accumulates beyond 16 bits; what came before a
    block is added to them.
    """
    *others, size = x.shape
    if size <= BLOCK:
        return x @ jnp.tri(size, dtype=x.dtype).T
    blocks = -(-size // BLOCK)
    rest = [(0, 0)] * len(others) + [(0, blocks * BLOCK - size)]
    within = cumulated(jnp.pad(x, rest).reshape(*others, blocks, BLOCK))
    begin = [(0, 0)] * len(others) + [(1, 0)]
    before = jnp.pad(cumulated(within[..., :-1, -1]), begin)
    sums = within + spread(before[..., None], within.shape)
    return sums.reshape(*others, blocks * BLOCK)[..., :size]


@function
def cumsum(
    x: Float["..."],
    *,
    axis: Axis = -1,  #: axes along which it adds up, one after another
    accum_dtype: DType | None = None,  #: dtype of the sums; None: that of x
) -> Float["..."]:
    """Sums of all elements up to each along an axis, in the dtype of x.

    In 16 bits jnp.cumsum rounds with every few elements; this does not.
    """
    y = x if accum_dtype is None else x.astype(accum_dtype)
    for a in axis:
        if jnp.finfo(y.dtype).bits > 16:
            y = lax.cumsum(y, a % x.ndim)
            continue
        y = jnp.moveaxis(y, a, -1)
        # What is not finite would be NaN in all sums of a product.
        finite = jnp.isfinite(y)
        others = lax.associative_scan(jnp.add, jnp.where(finite, 0, y), axis=-1)
        y = jnp.moveaxis(cumulated(jnp.where(finite, y, 0)) + others, -1, a)
    return y.astype(x.dtype)
