import jax.numpy as jnp

from mlax_scaffold.spec import (
    Axis,
    DType,
    Float,
    Positive,
    function,
    l2_norm,
    range_scale,
    spread,
)


@function
def l2_normalize(
    x: Float["..."],
    *,
    axis: Axis = -1,  #: axes of the vectors
    epsilon: Positive = 1e-12,  #: the least norm to divide by
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Vectors of length one: x / max(l2_norm(x), epsilon).

    As torch.nn.functional.normalize. Deviation: `epsilon` is at least the smallest
    normal number of the dtype, so that the zero vector stays zero, with a finite
    gradient.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    least = max(epsilon, float(jnp.finfo(wide.dtype).tiny))
    # In the gradient a length is squared: it must be near one.
    scale = range_scale(wide, axis=axis, at_least=8.0 * least, only_float16=False)
    # Exact, and no division that compilers would join with the next one.
    inverse = 1.0 / scale
    wide = wide * inverse
    length = jnp.maximum(l2_norm(wide, axis=axis, keepdims=True), least * inverse)
    if jnp.finfo(wide.dtype).maxexp > 16:
        return (wide / spread(length, wide.shape)).astype(x.dtype)
    # That of many elements has no square in float16, where none of them is large.
    unit = range_scale(length, axis=())
    y = wide / spread(length / unit, wide.shape)
    return (y / unit).astype(x.dtype)
