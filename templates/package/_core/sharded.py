"""Shardings that are part of types: of arrays over a mesh that has explicit axes.

There jax asks where a result is to lie, wherever its operands do not say it. Without such a
mesh all of this does nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

_ROUNDS = 4
"""How often a place is looked for that a loop keeps: it gains axes in each."""


def is_typed(tree: Any) -> bool:
    """Whether it says of any array of a tree where it lies."""
    return any(map(_is_typed, jax.tree.leaves(tree)))


def everywhere(x: jax.Array) -> jax.Array:
    """An array on all devices of its mesh."""
    return jax.sharding.reshard(x, PartitionSpec()) if _is_typed(x) else x


def rows_sharding(table: jax.Array, indices: jax.Array) -> NamedSharding | None:
    """Where rows of a table lie: as their indices do, and along a row as the table does."""
    if not (_is_typed(table) or _is_typed(indices)):
        return None
    chosen = _padded(indices)
    taken = set(_axes(chosen))
    row = [None if taken & set(_axes([part])) else part for part in _padded(table)[1:]]
    mesh = jax.typeof(indices if _is_typed(indices) else table).sharding.mesh
    return NamedSharding(mesh, PartitionSpec(*chosen, *row))


def carried(step: Callable[[Any, Any], tuple[Any, Any]], init: Any, first: Any) -> Any:
    """What a loop carries first, where its step leaves it."""
    for _ in range(_ROUNDS):
        after = jax.eval_shape(step, init, first)[0]
        placed = jax.tree.map(_beside, init, after)
        if all(
            a is b for a, b in zip(*map(jax.tree.leaves, (init, placed)), strict=True)
        ):
            break
        init = placed
    return init


def _beside(x: Any, after: Any) -> Any:
    here, there = jax.typeof(x).sharding, after.sharding
    if there is None or here.spec == there.spec or jnp.shape(x) != after.shape:
        return x
    return jax.sharding.reshard(x, there.spec)


def _is_typed(x: Any) -> bool:
    return AxisType.Explicit in jax.typeof(x).sharding.mesh.axis_types


def _padded(x: jax.Array) -> list[Any]:
    """The partition of each axis of an array."""
    spec = tuple(jax.typeof(x).sharding.spec)
    return [*spec, *[None] * (x.ndim - len(spec))]


def _axes(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        yield from part if isinstance(part, tuple) else () if part is None else (part,)
