"""Moments in lists, tuples and dictionaries: at each of their places, a tree like the weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

_ABSENT = (0, 0, 0)
"""The shape of what ends a list for a weight that has fewer moments in it than another one.

What a weight does not have otherwise is `(0,)`, and no axis is there three times.
"""


@dataclass(frozen=True)
class Held:
    """Moments in a container."""

    trees: Any

    def parts(self, structure: Any) -> tuple[list[Any], Any]:
        """The trees of the structure of the weights, and the container that they are in.

        Where one has another structure, its parts stand in its place.
        """
        # A container of such trees is never one of them: it has more nodes than each.
        return jax.tree.flatten(
            self.trees, is_leaf=lambda node: jax.tree.structure(node) == structure
        )

    def rows(self, structure: Any) -> list[Any]:
        """A container of arrays for each weight."""
        trees, form = self.parts(structure)
        columns = [structure.flatten_up_to(tree) for tree in trees]
        return [
            _own(form.unflatten([column[i] for column in columns]))
            for i in range(structure.num_leaves)
        ]


def joined(structure: Any, rows: Sequence[Any], like: Any) -> Any:
    """Trees of the structure of the weights, of what there is for each weight.

    Args:
        structure: that of the weights.
        rows: for each weight an array, a container of arrays, or None.
        like: what there would be for another weight.
    """
    if not rows:
        return jax.tree.map(lambda _: structure.unflatten(()), like)
    return jax.tree.map(lambda *leaves: structure.unflatten(leaves), *_alike(rows))


def _alike(rows: Sequence[Any]) -> list[Any]:
    """The same with lists of one length, that of the longest one."""
    first = rows[0]
    if isinstance(first, dict):
        columns = [_alike([row[name] for row in rows]) for name in first]
        return [
            dict(zip(first, row, strict=True)) for row in zip(*columns, strict=True)
        ]
    if not isinstance(first, list | tuple):
        return list(rows)
    longest = max(rows, key=len)
    full = [[*row, *map(_absent, longest[len(row) :])] for row in rows]
    columns = [_alike(column) for column in zip(*full, strict=True)]
    return [type(first)(column[i] for column in columns) for i in range(len(rows))]


def _own(row: Any) -> Any:
    """The containers of one weight without what others have more in their lists."""
    if isinstance(row, dict):
        return {name: _own(value) for name, value in row.items()}
    if not isinstance(row, list | tuple):
        return row
    own = [_own(value) for value in row if not _is_absent(value)]
    return type(row)(own)


def _absent(value: Any) -> Any:
    return jax.tree.map(lambda a: jnp.zeros(_ABSENT, a.dtype), value)


def _is_absent(value: Any) -> bool:
    leaves = jax.tree.leaves(value)
    return bool(leaves) and all(leaf.shape == _ABSENT for leaf in leaves)


def rebuilt(new: Any, old: Any, stored: Callable[[Any, Any], Any]) -> Any:
    """What an update makes of moments of a weight, in the containers that these are in.

    Raises:
        ValueError: where there are more of them, or less.
    """
    if old is None:
        return None
    if isinstance(old, dict):
        return {name: rebuilt(new[name], value, stored) for name, value in old.items()}
    if not isinstance(old, list | tuple):
        return stored(new, old)
    if len(new) != len(old):
        raise ValueError(
            f"an update keeps the number of its moments: there are {len(old)} in the "
            f"{type(old).__name__}, and {len(new)} are set"
        )
    pairs = zip(new, old, strict=True)
    return type(old)(rebuilt(one, other, stored) for one, other in pairs)
