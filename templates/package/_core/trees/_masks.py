"""Masks over weights, and trees without those that are not chosen."""

import warnings
from collections.abc import Callable
from typing import Any

import jax

from ..paths import listed, named_leaves, path_name


def selected(mask: Callable[[str, Any], bool] | None, trainables: Any) -> Any:
    """Whether the mask selects each weight; a mask of None selects all.

    The mask is given the name of the weight, as in `flatten`, and the weight.

    Raises:
        TypeError: where the mask returns something else than a bool, naming the weight.
    """

    def select(path: Any, weight: Any) -> bool:
        name = path_name(path)
        chosen = True if mask is None else mask(name, weight)
        if not isinstance(chosen, bool):
            raise TypeError(
                f"a mask must return a bool for each weight, got {chosen!r} for {name!r}; "
                "it may use the path, the shape and the dtype, not the values"
            )
        return chosen

    return jax.tree_util.tree_map_with_path(select, trainables)


def check_mask(
    owner: str, trainables: Any, *, required: bool = False, **value: Any
) -> None:
    """A mask selects a weight: one that selects none is most often a wrong name.

    Raises:
        TypeError: where the mask returns something else than a bool, naming the weight.
        ValueError: where it selects none and is `required`; else that is a warning.
    """
    [(name, mask)] = value.items()
    chosen = jax.tree.leaves(selected(mask, trainables))
    if not chosen or any(chosen):
        return
    weights = listed([weight for weight, _ in named_leaves(trainables)])
    text = f"{owner}: {name} selects no weight; their names are {weights}"
    if required:
        raise ValueError(text)
    warnings.warn(text, stacklevel=3)


def tree_select(tree: Any, chosen: Any) -> Any:
    """The leaves of a tree where a tree of bools is True, None in the place of the others."""
    return jax.tree.map(lambda leaf, keep: leaf if keep else None, tree, chosen)


def tree_merge(parts: Any, tree: Any) -> Any:
    """A tree with those leaves replaced that `parts` has: it has None for the others."""
    return jax.tree.map(
        lambda part, leaf: leaf if part is None else part,
        parts,
        tree,
        is_leaf=lambda part: part is None,
    )


def tree_prune(state: Any, trainables: Any, chosen: Any) -> Any:
    """The state of an optimizer, its moments without the weights that are not chosen.

    A moment has the structure of the weights, or None in the place of some.
    """
    structure = _structure(trainables)

    def field(value: Any) -> Any:
        if (
            value is not None
            and structure.num_leaves
            and _structure(value) == structure
        ):
            return tree_select(value, chosen)
        if isinstance(value, tuple):
            parts = [field(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value

    return type(state)(*map(field, state))


def _structure(tree: Any) -> Any:
    return jax.tree.structure(tree, is_leaf=lambda leaf: leaf is None)
