"""Masks over weights, and trees without those that are not chosen."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..checks import function
from ..checks._errors import invalid
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


@dataclass(frozen=True)
class Chosen:
    """A mask that selects the weights of some names."""

    names: frozenset[str]

    def __call__(self, path: str, weight: Any) -> bool:
        """Whether the weight of this name is one of them."""
        return path in self.names


def mask(
    owner: str, trainables: Any, *, required: bool = False, **value: Any
) -> Callable[[str, Any], bool] | None:
    """A mask as hyperparameters hold it: a hashable function of a name and a weight.

    It is given as such a function, or as a tree of bools, structured like the weights or
    like the first levels of them: a bool in the place of a subtree is that of all in it.

    Raises:
        TypeError: where the mask returns something else than a bool, naming the weight.
        ValueError: where it is no mask of these weights, or where it selects none and is
            `required`; else that is a warning: it is most often a wrong name.
    """
    [(name, given)] = value.items()
    if given is None and not required:
        return None
    if not callable(given):
        given = _of_tree(owner, name, given, trainables)
    given = function(owner, **{name: given})
    chosen = jax.tree.leaves(selected(given, trainables))
    if chosen and not any(chosen):
        text = selects_none(owner, name, trainables)
        if required:
            raise ValueError(text)
        warnings.warn(text, stacklevel=3)
    return given


def selects_none(owner: str, name: str, trainables: Any) -> str:
    """What is said of what selects no weight."""
    weights = listed([weight for weight, _ in named_leaves(trainables)])
    return f"{owner}: {name} selects no weight; their names are {weights}"


def _of_tree(owner: str, name: str, given: Any, trainables: Any) -> Chosen:
    """The mask that a tree of bools is, which may end above the weights."""

    def below(chosen: Any, weights: Any) -> Any:
        if not isinstance(chosen, bool | np.bool):
            raise TypeError
        return jax.tree.map(lambda _: bool(chosen), weights)

    try:
        whole = jax.tree.map(below, given, trainables)
    except (TypeError, ValueError):
        raise invalid(
            owner,
            name,
            "a hashable function of a weight's path and the weight (a lambda is, a dict "
            "in a partial is not), or a tree of bools like the weights",
            given,
        ) from None
    return Chosen(frozenset(path for path, chosen in named_leaves(whole) if chosen))


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
        if isinstance(value, dict):
            return {name: field(part) for name, part in value.items()}
        if isinstance(value, tuple):
            parts = [field(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value

    if isinstance(state, dict):
        return {name: field(part) for name, part in state.items()}
    return type(state)(*map(field, state))


def _structure(tree: Any) -> Any:
    return jax.tree.structure(tree, is_leaf=lambda leaf: leaf is None)
