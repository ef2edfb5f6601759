import jax.numpy as jnp

from mlax_scaffold.spec import (
    DType,
    Float,
    NonNegative,
    Positive,
    function,
    l2_norm,
    spread,
)


@function
def scale_by_trust_ratio(
    update: Float["..."],
    param: Float["..."],
    *,
    coefficient: Positive = 1.0,  #: factor of the ratio
    min_norm: NonNegative = 0.0,  #: smaller norms count as this one
    epsilon: NonNegative = 0.0,  #: added to the norm of the update
    accum_dtype: DType | None = None,  #: dtype of the norms; None: that of the update
) -> Float["..."]:
    """The update times coefficient * norm(param) / (norm(update) + epsilon).

    Where the norm of the weight is zero, or that of the update is below the normal
    numbers of the dtype, the update stays as it is. You et al., 2017, arXiv:1708.03888.
    """
    size = jnp.maximum(l2_norm(param, accum_dtype=accum_dtype), min_norm)
    length = jnp.maximum(l2_norm(update, accum_dtype=accum_dtype), min_norm)
    least = float(jnp.finfo(length.dtype).tiny)
    undefined = (size == 0.0) | (length < least)
    # In this order no factor is larger than the norm of the weight.
    divisor = jnp.where(undefined, 1.0, length + epsilon)
    factor = jnp.where(undefined, 1.0, coefficient * size)
    direction = update / spread(divisor, update.shape)
    return direction * spread(factor, update.shape)
