"""Arrays as what their axes show them to be."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import literal, same


def has_new_axis(array: Array) -> bool:
    """Whether an array has an axis of one element behind the first: `query[:, None, :]`."""
    sizes = [literal(axis) for axis in array.axes]
    return not array.lead and len(sizes) > 2 and 1 in sizes[1:] and sizes[0] != 1


def is_square(array: Array) -> bool:
    """Whether an array is a square matrix, of a size that is not one."""
    return (
        not array.lead
        and len(array.axes) == 2
        and same(*array.axes)
        and literal(array.axes[0]) != 1
    )


def is_column(array: Array) -> bool:
    """Whether an array has several rows of one element each: what was reduced and kept its axis."""
    sizes = [literal(axis) for axis in array.axes]
    return array.lead and len(sizes) == 2 and sizes[1] == 1 != sizes[0]


def is_of_channels(array: Array) -> bool:
    """Whether an array is of one axis, and others are added behind it: `w[:, None, None]`."""
    sizes = [literal(axis) for axis in array.axes]
    return (
        not array.lead
        and len(sizes) > 1
        and sizes[-1] == 1
        and sum(size != 1 for size in sizes) == 1
    )


def told_by_operator(operator: ast.operator, *values: Value) -> None:
    """Take arrays to be of the kind that an operator asks for."""
    arrays = [value for value in values if isinstance(value, Array)]
    for array in arrays:
        if isinstance(operator, ast.Sub):
            # `1.0 - mask`: truths cannot be subtracted.
            array.of_numbers()
        if isinstance(operator, ast.Add) and array.lead:
            # A mask that is added is one of numbers.
            array.of_numbers()
    if isinstance(operator, ast.LShift | ast.RShift):
        # Bits are those of whole numbers.
        for array in arrays:
            array.of_integers()
