"""Inputs of equinox whose first axis is asked for, and is one that layers are mapped over."""

from __future__ import annotations

from collections.abc import Mapping

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value


def with_mapped_axes(symbols: Symbols, inputs: Mapping[str, Value]) -> None:
    """Give them that axis before those of the layers."""
    for value in inputs.values():
        if isinstance(value, Array) and value.asked_early and len(value.axes) == 1:
            symbols.ranked(value, ("items", "features"))
