"""Images that are as high and wide as a field of the class says: `img_size`."""

from __future__ import annotations

from collections.abc import Mapping

from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array
from mlax_scaffold.conversion.source.trees import expression

_IMAGE_SIZES = ("img_size", "image_size", "input_size", "resolution", "img_dim")


def with_image_sizes(
    symbols: Symbols, array: Array, fields: Mapping[str, Field], framework: str
) -> None:
    """Note down that its sides have this size, where nothing else tells what they are."""
    known = next((f for f in fields if f in _IMAGE_SIZES), None)
    if known is None or array.lead or len(array.axes) != 4:
        return
    if fields[known].word != "Size":
        return
    last = framework in ("flax", "nnx", "haiku")
    axes = array.axes[1:3] if last else array.axes[2:]
    if all(is_symbol(symbols.find(a)) for a in axes):
        for axis in axes:
            symbols.equal(axis, expression(f"self.{known}"))
