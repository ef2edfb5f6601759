"""Compares a function of the library with a definition of it, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numerics_arrays import assert_close, compiled, draw, reference


def assert_same(
    ours: Callable[..., Any], theirs: Callable[..., Any], *arguments: Any
) -> None:
    """Values and gradients of all arguments are those of `theirs`, computed in float64.

    Ours runs in the dtype of the arguments, without implicit promotion.
    """
    dtype = jax.tree.leaves(arguments)[0].dtype
    with jax.numpy_dtype_promotion("strict"):
        y, gradients = compiled(_with_gradients(ours, dtype), dtype)(*arguments)
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), arguments)
    run = reference(_with_gradients(theirs, jnp.dtype("float64")))
    expected, expected_gradients = run(*wide)
    assert_close(y, expected, dtype)
    assert_close(gradients, expected_gradients, dtype)


def _with_gradients(function: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    def both(*arguments: Any) -> tuple[Any, Any]:
        y, vjp = jax.vjp(function, *arguments)
        leaves, tree = jax.tree.flatten(y)
        cotangents = [draw(90 + i, a.shape, dtype) for i, a in enumerate(leaves)]
        return y, vjp(jax.tree.unflatten(tree, cotangents))

    return both


def shapes_of(init: Callable[[Any], Any]) -> Any:
    """What `init(key)` returns, with shapes in the place of arrays.

    Where weights are redrawn, programs that draw them need not be compiled.
    """
    return jax.eval_shape(init, jax.eval_shape(lambda: jax.random.key(0)))


def redrawn(tree: Any, dtype: Any, seed: int = 0, scale: float = 0.5) -> Any:
    """Normal numbers in the place of every floating array, so that none is zero or one."""
    leaves, structure = jax.tree.flatten(tree)
    made = [draw(seed + i, a.shape, dtype, scale) for i, a in enumerate(leaves)]
    return jax.tree.unflatten(structure, made)
