"""Arrays to compute with, and how close results must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.testing.programs import quick

TOLERANCE = {"float32": 1e-5, "float64": 1e-12}


def draw(
    seed: int, shape: tuple[int, ...], dtype: Any, scale: float = 1.0
) -> jax.Array:
    """Normal numbers that are the same in every dtype, up to rounding."""
    values = np.random.default_rng(seed).normal(size=shape, scale=scale)
    # `jnp.asarray` would compile a program for each shape.
    return jax.device_put(values.astype(np.float32).astype(jnp.dtype(dtype)))


def assert_close(actual: Any, expected: Any, dtype: Any) -> None:
    """Compares trees: errors are relative to the largest number of each array."""
    name = jnp.dtype(dtype).name
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert jnp.asarray(a).dtype == name
        wanted = np.asarray(e, np.float64)
        scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)))
        np.testing.assert_allclose(
            np.asarray(a, np.float64), wanted, rtol=0.0, atol=TOLERANCE[name] * scale
        )


def numpy(tree: Any) -> Any:
    """The arrays of a tree as NumPy arrays of float64 (integers and booleans stay)."""

    def leaf(x: Any) -> np.ndarray:
        floating = jnp.issubdtype(x.dtype, jnp.floating)
        return np.asarray(x, np.float64) if floating else np.asarray(x)

    return jax.tree.map(leaf, tree)


def reference(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that the library is compared with, compiled in the least time.

    It runs once.
    """
    return jax.jit(function, compiler_options=quick())


def compiled(function: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    """A function of the library, to be compared in a dtype.

    In float32 it is compiled as users compile it. In float64, in which less rounding shows
    what is computed, it is compiled in the least time.
    """
    return reference(function) if jnp.dtype(dtype) == "float64" else jax.jit(function)


def assert_same_vjp(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    arguments: tuple[Any, ...],
    dtype: Any,
) -> None:
    """Compares results (trees) and gradients of two functions, each compiled once."""

    def with_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(arguments: Any, cotangent: Any) -> Any:
            y, vjp = jax.vjp(function, *arguments)
            return y, vjp(cotangent)

        return run

    shapes = jax.eval_shape(ours, *arguments)
    cotangent = jax.tree.map(lambda s: draw(99, s.shape, dtype), shapes)
    actual = compiled(with_gradients(ours), dtype)(arguments, cotangent)
    expected = reference(with_gradients(theirs))(arguments, cotangent)
    assert_close(actual, expected, dtype)
