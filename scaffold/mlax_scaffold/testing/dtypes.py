"""Dtypes of tests: which ones, and the contexts that they need."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

FLOAT_DTYPES = tuple(
    jnp.dtype(d) for d in (jnp.float16, jnp.bfloat16, jnp.float32, jnp.float64)
)
"""The dtypes for which the dtype contract holds."""


COMPLEX_DTYPES = tuple(jnp.dtype(d) for d in (jnp.float32, jnp.float64))
"""Those in which there are complex numbers."""


def weights_dtypes(dtype: DTypeLike, half: DTypeLike = jnp.bfloat16) -> tuple[Any, ...]:
    """Dtypes of weights to test inputs of a dtype with: the same, and another.

    `half` is the other one of float32.
    """
    single, other = jnp.dtype(jnp.float32), jnp.dtype(half)
    return jnp.dtype(dtype), other if jnp.dtype(dtype) == single else single


def x64() -> AbstractContextManager[Any]:
    """A context in which float64 exists, in every version of jax."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64()


def precision_for(*dtypes: DTypeLike) -> AbstractContextManager[Any]:
    """`x64()` where one of the dtypes is of 64 bits, else no change."""
    if any(jnp.dtype(d).itemsize == 8 for d in dtypes):
        return x64()
    return contextlib.nullcontext()


@contextlib.contextmanager
def strict_promotion() -> Iterator[None]:
    """A context in which mixing dtypes or ranks in an operation raises."""
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def is_inexact(value: Any) -> bool:
    """Whether an array or `jax.ShapeDtypeStruct` has a floating or a complex dtype."""
    return jnp.issubdtype(value.dtype, jnp.inexact)


def real(dtype: DTypeLike) -> Any:
    """The dtype of the parts of a complex one; a floating one itself."""
    return jnp.finfo(dtype).dtype


def matching(own: DTypeLike, dtype: DTypeLike) -> Any:
    """A floating dtype, or where an array's own is complex the complex one of its precision."""
    if not jnp.issubdtype(own, jnp.complexfloating):
        return jnp.dtype(dtype)
    return jnp.dtype(f"complex{16 * jnp.dtype(dtype).itemsize}")


def is_floating(value: Any) -> bool:
    """Whether an array or `jax.ShapeDtypeStruct` has a floating dtype."""
    return jnp.issubdtype(value.dtype, jnp.floating)
