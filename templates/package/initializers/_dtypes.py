"""The dtype of new weights."""

import jax.numpy as jnp
from jax.typing import DTypeLike

from .._core import checks


def float_dtype(owner: str, dtype: DTypeLike | None) -> jnp.dtype:
    """The dtype of the weights; None: the default float dtype, which 64-bit mode decides."""
    if dtype is None:
        return jnp.result_type(float)
    return checks.dtype(owner, dtype=dtype)
