"""Weights as matrices: what their axes are, a text tells that has a letter for each."""

import math
from collections.abc import Sequence
from typing import Any

from jax import lax


def matrix_shape(shape: Sequence[int], letters: str) -> tuple[int, ...]:
    """The shape of an array as matrices: (rows, columns), or (batch, rows, columns).

    Args:
        shape: that of the array.
        letters: one for each axis: r of rows, c of columns, b of a batch; or none, where
            it is no matrix.

    Returns:
        a size for each letter that there is; nothing where there is none.
    """
    named = [*zip(letters, shape, strict=bool(letters))]
    return tuple(
        math.prod(size for own, size in named if own == part)
        for part in "brc"
        if part in letters
    )


def to_matrices(x: Any, letters: str) -> Any:
    """An array as matrices, of the shape that `matrix_shape` tells."""
    order = _order(letters)
    return lax.reshape(lax.transpose(x, order), matrix_shape(x.shape, letters))


def from_matrices(x: Any, letters: str, shape: Sequence[int]) -> Any:
    """The array of a shape whose `to_matrices` this is."""
    order = _order(letters)
    spread = lax.reshape(x, [shape[axis] for axis in order])
    return lax.transpose(spread, sorted(range(len(order)), key=order.__getitem__))


def _order(letters: str) -> list[int]:
    """The axes of a batch, of rows and of columns."""
    return sorted(range(len(letters)), key=lambda axis: "brc".index(letters[axis]))
