import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Axis, DType, Float, deviations, function


@function
def std(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes of the deviation; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Standard deviation (biased), in the dtype of x, which jnp.std widens.

    Where everything is the same it is 0, and so is its gradient, in the place of NaN.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    _, _, square, scale = deviations(wide, axis=axis)
    zero = square == 0.0
    root = lax.sqrt(jnp.where(zero, jnp.ones_like(square), square)) * scale
    root = jnp.where(zero, jnp.zeros_like(root), root)
    axes = tuple(range(x.ndim)) if axis is None else axis
    return (root if keepdims else lax.squeeze(root, axes)).astype(x.dtype)
