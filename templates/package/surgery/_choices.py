"""Trees in two parts: what is trained, and what is frozen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from .._core import trees
from .._core.paths import path_name, shown


def split(tree: Any, mask: Callable[[str, Any], bool] | Any) -> tuple[Any, Any]:
    """The leaves that a mask chooses, and the others: None stands for those of the other tree.

    Gradients with respect to the first tree alone neither compute nor keep those of the
    second one, and an optimizer of it has no moments for them.

        trained, frozen = split(trainables, lambda path, weight: "lora" in path)

    Args:
        tree: any tree of arrays.
        mask: a function of a leaf's path (such as 'layers/0/kernel') and the leaf; or a
            tree of bools, structured like the tree or like the first levels of it.

    Returns:
        Two trees of the same structure, which `merge` puts together.

    Raises:
        ValueError: where the mask chooses nothing, naming what there is.
        TypeError: where it is no mask.
    """
    choose = trees.mask("surgery.split", tree, required=True, mask=mask)
    chosen = trees.selected(choose, tree)
    rest = jax.tree.map(lambda keep: not keep, chosen)
    return trees.tree_select(tree, chosen), trees.tree_select(tree, rest)


def merge(tree: Any, other: Any) -> Any:
    """The tree of two that have None in the place of what the other one has.

    Raises:
        ValueError: where both have a leaf, naming it, or they are structured differently.
    """

    def leaf(path: Any, one: Any, two: Any) -> Any:
        if one is not None and two is not None:
            raise ValueError(
                f"surgery.merge: both trees have a leaf at {shown(path_name(path))}; one of "
                "them must have None there, as `split` returns them"
            )
        return two if one is None else one

    def is_leaf(node: Any) -> bool:
        return node is None

    return jax.tree_util.tree_map_with_path(leaf, tree, other, is_leaf=is_leaf)
