import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    function,
)


@function
def prod(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes that are multiplied; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the product; None: that of x
) -> Float["..."]:
    """Product over axes, in the dtype of x, which jnp.prod widens if it has 16 bits.

    Elements that `where` leaves out count as 1.
    """
    axes = range(x.ndim) if axis is None else sorted(a % x.ndim for a in axis)
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    if where is not None:
        wide = jnp.where(where, wide, 1)
    total = lax.reduce(wide, wide.dtype.type(1), lax.mul, tuple(axes))
    total = lax.expand_dims(total, tuple(axes)) if keepdims else total
    return total.astype(x.dtype)
