import math

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    function,
    spread,
    sum,
)


@function
def l2_norm(
    x: Float["*shape"],
    where: Bool["# *shape"] | None = None,
    *,
    axis: Axis | None = None,  #: axes of the vectors; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """sqrt(sum(x^2)), in the dtype of x, which jnp.linalg.norm widens in 16 bits.

    Elements are divided by the largest one before they are squared, so that no square
    overflows, and none that matters underflows (Blue, 1978, doi:10.1145/355769.355771).
    The gradient of the norm of zeros is zero. Elements that `where` leaves out count as 0.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    if where is not None:
        wide = jnp.where(where, wide, 0.0)
    axes = tuple(range(x.ndim)) if axis is None else axis
    # Squares of at most 1 / sqrt(size) add up to at most sqrt(size), also in float16.
    size = max(math.prod(x.shape[a] for a in axes), 1)
    share = 2.0 ** ((math.log2(size) if isinstance(size, int) else 16) // 4)

    def parts(x):
        """The norm, and the unit vector, which is the gradient of the norm."""
        largest = jnp.max(lax.abs(x), axis=axes, keepdims=True, initial=0.0)
        # A bound whose inverse is a normal number, too. To divide by it would be joined by
        # compilers with a division that x is the result of, and its divisor.
        least = float(jnp.finfo(x.dtype).tiny)
        bound = lax.stop_gradient(jnp.clip(largest, least, 0.25 / least))
        scaled = x * (1.0 / bound) * (1.0 / share)
        square = sum(lax.square(scaled), axis=axes, keepdims=True)
        root = lax.sqrt(jnp.where(square == 0.0, 1.0, square))
        norm = jnp.where(square == 0.0, 0.0, root * share * bound)
        return norm, scaled / spread(root, x.shape)

    @jax.custom_jvp
    def length(x):
        return parts(x)[0]

    @length.defjvp
    def tangent(primals, tangents):
        # The bound would be a factor of a gradient, which has a range of its own.
        norm, unit = parts(*primals)
        return norm, sum(unit * tangents[0], axis=axes, keepdims=True)

    norm = length(wide)
    norm = norm if keepdims else lax.squeeze(norm, axes)
    return norm.astype(x.dtype)
