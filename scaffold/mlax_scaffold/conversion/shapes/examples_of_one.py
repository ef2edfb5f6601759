"""Inputs of equinox that are one example, and those whose first axis is one that layers are mapped over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import literal


def with_mapped_axes(symbols: Symbols, inputs: Mapping[str, Value]) -> None:
    """Give them that axis before those of the layers."""
    for value in inputs.values():
        if not isinstance(value, Array) or not value.asked_early or not value.lead:
            continue
        if len(value.axes) in (1, 2):
            symbols.ranked(value, ("items", "features"))


def with_axes_of_one(symbols: Symbols, arrays: Iterable[Array]) -> None:
    """Give arrays of one example the axes that they have there."""
    for value in arrays:
        if value.lead and len(value.axes) == 1:
            symbols.ranked(value, ("features",))
        _with_all_axes(symbols, value)


def _with_all_axes(symbols: Symbols, value: Array) -> None:
    """Give one example all axes of what is added to it, such as rows of a table."""
    other = value.against
    if not value.lead or value.axes or other is None or other.lead or not other.axes:
        return
    symbols.ranked(value, ("items", *["features"] * (len(other.axes) - 1)))
    for mine, axis in zip(value.axes, other.axes, strict=True):
        if literal(axis) != 1:
            symbols.equal(mine, axis)
