import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    Positive,
    function,
    weighted_sum,
)


@function
def sum(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes that are summed; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    factor: Positive = 1.0,  #: of all elements; a power of two changes no digit
    accum_dtype: DType | None = None,  #: dtype of the sum; None: that of x
) -> Float["..."]:
    """Sum over axes, in the dtype of x, which jnp.sum widens where it has 16 bits.

    Elements that `where` leaves out count as 0.
    Its error does not grow with the number of elements: in 16 bits it is a product with
    ones, which accumulates beyond them inside.
    """
    axes = tuple(range(x.ndim)) if axis is None else sorted(a % x.ndim for a in axis)
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    if where is not None:
        wide = jnp.where(where, wide, 0)
    if jnp.finfo(wide.dtype).bits > 16:
        total = lax.reduce(wide, wide.dtype.type(0), lax.add, tuple(axes))
        total = total if factor == 1.0 else total * factor
    else:
        total = weighted_sum(wide, axes, factor)
    total = lax.expand_dims(total, tuple(axes)) if keepdims else total
    return total.astype(x.dtype)
