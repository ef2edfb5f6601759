"""Texts that weights have by their names: the groups they are in, what their axes are."""

import warnings
from collections.abc import Callable
from typing import Any

import jax

from ..checks import function
from ..checks._errors import invalid
from ..paths import named_leaves, path_name, shown
from ..static import static
from ._masks import selects_none

_AXES = frozenset("rcb")


@static
class Labels:
    """Labels of weights by their names: a function of a name and a weight."""

    of: dict[str, str]
    """The label of each name."""

    def __call__(self, path: str, weight: Any) -> str:
        """The label of the weight of this name."""
        return self.of[path]


def labels_of_tree(
    owner: str, name: str, expected: str, given: Any, trainables: Any
) -> Labels:
    """The function that a tree of labels is, which may end above the weights.

    Raises:
        ValueError: where it has not the structure of the weights; says what is expected.
    """
    try:
        whole = jax.tree.map(
            lambda label, weights: jax.tree.map(lambda _: label, weights),
            given,
            trainables,
        )
        return Labels(dict(named_leaves(whole)))
    except (TypeError, ValueError):
        raise invalid(owner, name, expected, given) from None


def matrix_axes(
    owner: str, trainables: Any, **value: Any
) -> Callable[[str, Any], str] | None:
    """What tells the axes of matrices, as hyperparameters hold it: a hashable function.

    It is given as such a function, or as a tree of texts, structured like the weights or
    like the first levels of them; see `axes_of_matrices`.

    Raises:
        TypeError, ValueError: where it is none for these weights. That it makes a matrix
            of none is a warning: it is most often a wrong name.
    """
    [(name, given)] = value.items()
    if given is None:
        return None
    if not callable(given):
        expected = (
            "a hashable function of a weight's path and the weight that gives a text such "
            "as 'rc' (a lambda is, a dict in a partial is not), or a tree of such texts "
            "like the weights"
        )
        if not all(isinstance(text, str) for text in jax.tree.leaves(given)):
            raise invalid(owner, name, expected, given)
        given = labels_of_tree(owner, name, expected, given, trainables)
    given = function(owner, **{name: given})
    texts = jax.tree.leaves(axes_of_matrices(given, trainables))
    if texts and not any(texts):
        warnings.warn(selects_none(owner, name, trainables), stacklevel=3)
    return given


def axes_of_matrices(axes: Callable[[str, Any], str] | None, trainables: Any) -> Any:
    """What the axes of each weight are; None for each where nothing tells it.

    A text has a letter for each axis: r, one of the rows of a matrix, c, one of its
    columns, or b, one of a batch of matrices. It is empty where a weight is no matrix.

    Raises:
        TypeError: where it is no such text, naming the weight.
        ValueError: where it does not fit the weight, naming it.
    """

    def tell(path: Any, weight: Any) -> str | None:
        if axes is None:
            return None
        name = path_name(path)
        text = axes(name, weight)
        if not isinstance(text, str):
            raise TypeError(
                f"axes of matrices are a text such as 'rc', or '', got {text!r} for "
                f"{shown(name)!r}"
            )
        fits = len(text) == weight.ndim and {*"rc"} <= {*text} <= _AXES
        if text and not fits:
            raise ValueError(
                f"axes of a matrix have a letter for each axis, r of rows, c of columns or "
                f"b of a batch, at least one r and one c, got {text!r} for {shown(name)!r} "
                f"of shape {tuple(weight.shape)}"
            )
        return text

    return jax.tree_util.tree_map_with_path(tell, trainables)
