"""Mapped axes, over which a case is called that takes means or sums over them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")

_DEVICES = 2
"""The size of an axis."""


def names_of(values: Iterable[Any]) -> tuple[str, ...]:
    """The names of axes: each value is one, several, or None."""
    several = ((v,) if isinstance(v, str) else v or () for v in values)
    return tuple(dict.fromkeys(name for names in several for name in names))


def mapped_over(names: Iterable[str], run: Callable[[], T]) -> T:
    """What `run` returns on each of several devices that have the same arrays."""
    for name in names:
        run = functools.partial(_on_each, name, run)
    return run()


def _on_each(name: str, run: Callable[[], T]) -> T:
    each = jax.vmap(lambda _: run(), out_axes=None, axis_name=name)
    return each(jnp.arange(_DEVICES))
