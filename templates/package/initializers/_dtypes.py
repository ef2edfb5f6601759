"""The dtype of new weights."""

import jax.numpy as jnp
from jax.typing import DTypeLike

from .._core import checks


def float_dtype(owner: str, dtype: DTypeLike | None) -> jnp.dtype:
    """The dtype of the weights; None: the default float dtype, which 64-bit mode decides."""
    if dtype is None:
        return jnp.result_type(float)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        raise ValueError(
            f"{owner} makes real numbers, and {jnp.dtype(dtype)} was asked for; complex ones "
            "are made by zeros, ones, constant, normal, variance_scaling and its kind, "
            "orthogonal and identity"
        )
    return checks.dtype(owner, dtype=dtype)


def inexact_dtype(owner: str, dtype: DTypeLike | None) -> jnp.dtype:
    """The same, which may be complex."""
    if dtype is not None and jnp.issubdtype(dtype, jnp.complexfloating):
        return jnp.dtype(dtype)
    return float_dtype(owner, dtype)


def number_dtype(owner: str, dtype: DTypeLike | None, value: float) -> jnp.dtype:
    """The same, which may be that of integers where the number is one: of counts."""
    whole = float(value).is_integer()
    if dtype is not None and whole and jnp.issubdtype(dtype, jnp.integer):
        return jnp.dtype(dtype)
    return inexact_dtype(owner, dtype)
