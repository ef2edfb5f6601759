"""What all metrics do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp

from .._core import checks
from ._states import Count, Moments, Total

State = TypeVar("State")

_PARTS = (Count, Total, Moments)


class Metric(Generic[State]):
    """What every metric can do, and one of your own that is based on it.

    A state is a tree of `Count`, `Total` and `Moments`, which are added one by one. Its
    shapes and dtypes never change, so that it can be carried through a scan.
    """

    of: Callable[..., State]
    """The state of one batch alone: a method of the arrays of a batch and, by the name `where`, a mask."""

    def init(self) -> State:
        """The state of no example."""
        raise NotImplementedError

    def result(self, state: State) -> jax.Array:
        """The value for all examples of a state."""
        raise NotImplementedError

    def update(self, state: State, *batch: Any, **masks: Any) -> State:
        """The state with the examples of a batch: that of `of(*batch, where=...)`, merged.

        Examples that `where`, an array of booleans, leaves out count nothing, even where
        they are NaN.
        """
        return self.merge(state, self.of(*batch, **masks))

    def merge(self, state: State, other: State) -> State:
        """The state of the examples of both."""
        return jax.tree.map(lambda a, b: a.add(b), state, other, is_leaf=_is_part)

    def reduce(self, state: State, axis_name: Any) -> State:
        """The state of the examples of all devices of a mapped axis, or several, the same on each."""
        return jax.tree.map(lambda a: a.reduce(axis_name), state, is_leaf=_is_part)


def _is_part(value: Any) -> bool:
    return isinstance(value, _PARTS)


def wide(owner: str, dtype: Any) -> Any:
    """The dtype of a state. One of 16 bits would not hold a sum."""
    dtype = checks.dtype(owner, dtype=dtype)
    checks.require(
        owner,
        jnp.finfo(dtype).bits > 16,
        "dtype must have 32 or 64 bits: it is that of sums over many batches",
        dtype=dtype,
    )
    return dtype


def floats(owner: str, dtype: Any, /, **value: Any) -> jax.Array:
    """Floats, integers or booleans in a floating dtype."""
    [(_, given)] = value.items()
    array = jnp.asarray(given)
    if jnp.issubdtype(array.dtype, jnp.integer) or array.dtype == jnp.bool_:
        return array.astype(dtype)
    return checks.floating(owner, **value).astype(dtype)


def mask(owner: str, where: Any, like: jax.Array) -> jax.Array | None:
    """What tells which elements count: None, or booleans that broadcast to them."""
    if where is None:
        return None
    where = checks.logical(owner, where=where)
    checks.shapes(owner, {}, values=(like, "*shape"), where=(where, "# *shape"))
    return jnp.broadcast_to(where, like.shape)


def numbers(value: Any) -> Any:
    """Integers, which booleans stand for, too; what is neither is left for a check to tell."""
    array = jnp.asarray(value)
    return array.astype(jnp.int32) if array.dtype == jnp.bool_ else value
