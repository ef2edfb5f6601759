"""Comparing two functions of the same arrays: their values and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from numerics_arrays import assert_close, compiled, draw, reference


def assert_parity(
    ours: Callable[..., Any], theirs: Callable[..., Any], dtype: Any, *arguments: Any
) -> None:
    """Both give the same array, and the same gradients of all arguments."""

    def run(function: Callable[..., Any]) -> Any:
        y, gradients = jax.vjp(function, *arguments)
        return y, gradients(draw(99, y.shape, dtype))

    shapes = [jax.eval_shape(f, *arguments).shape for f in (ours, theirs)]
    assert shapes[0] == shapes[1]
    actual = compiled(lambda: run(ours), dtype)()
    expected = reference(lambda: run(theirs))()
    assert_close(actual, expected, dtype)
