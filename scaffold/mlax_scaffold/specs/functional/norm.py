import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Axis, DType, Float, function, range_scale, sum


@function
def norm(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes of the vectors; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Euclidean norm sqrt(sum(x^2)), in the dtype of x, which jnp.linalg.norm widens.

    Squares do not overflow: x is divided by a power of two first. The gradient at zero
    is zero, and not NaN.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    scale = range_scale(wide, axis=axis, only_float16=False)
    square = sum(lax.square(wide / scale), axis=axis, keepdims=True)
    zero = square == 0.0
    root = lax.sqrt(jnp.where(zero, jnp.ones_like(square), square)) * scale
    root = jnp.where(zero, jnp.zeros_like(root), root)
    axes = tuple(range(x.ndim)) if axis is None else axis
    return (root if keepdims else lax.squeeze(root, axes)).astype(x.dtype)
