"""Computing in float32 what has no half precision."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, computed in float32 where it is given floating arrays of 16 bits.

    What it returns is in their dtype again. Given any others it is as it was.
    """

    def run(*args: Any, **options: Any) -> Any:
        half = [x.dtype for x in jax.tree.leaves(args) if _is_half(x)]
        if not half:
            return function(*args, **options)
        wide = jax.tree.map(lambda x: x.astype(jnp.float32) if _is_half(x) else x, args)
        dtype = jnp.result_type(*half)
        return jax.tree.map(
            lambda y: y.astype(dtype) if _is_single(y) else y,
            function(*wide, **options),
        )

    return run


def _is_half(x: Any) -> bool:
    dtype = getattr(x, "dtype", jnp.dtype(bool))
    return jnp.issubdtype(dtype, jnp.floating) and jnp.finfo(dtype).bits <= 16


def _is_single(y: Any) -> bool:
    return getattr(y, "dtype", None) == jnp.float32
