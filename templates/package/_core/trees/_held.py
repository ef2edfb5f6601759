"""Moments in lists, tuples and dictionaries: at each of their places, a tree like the weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax


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
            form.unflatten([column[i] for column in columns])
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
    return jax.tree.map(lambda *leaves: structure.unflatten(leaves), *rows)


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
