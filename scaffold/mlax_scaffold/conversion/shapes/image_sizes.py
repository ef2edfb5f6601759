"""Images and videos that are as large as fields of the class say: `img_size`, `num_frames`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array
from mlax_scaffold.conversion.source.trees import expression

_IMAGE_SIZES = ("img_size", "image_size", "input_size", "resolution", "img_dim")
_FRAMES = ("num_frames", "n_frames", "frames", "clip_len", "clip_length")


def with_image_sizes(
    symbols: Symbols, array: Array, fields: Mapping[str, Field], framework: str
) -> None:
    """Note down that its sides have this size, where nothing else tells what they are."""
    if array.lead or len(array.axes) not in (4, 5):
        return
    last = framework in ("flax", "nnx", "haiku")
    if framework == "plain":
        # Channels are what is known of it.
        second, final = (is_symbol(symbols.find(array.axes[i])) for i in (1, -1))
        last = second and not final
    inner = array.axes[1:-1] if last else array.axes[1:]
    _equal(symbols, inner[-2:], fields, _IMAGE_SIZES)
    video = inner[:-2] if len(array.axes) == 5 else []
    frames = [a for a in video if is_symbol(symbols.find(a))]
    if len(frames) == 1:
        _equal(symbols, frames, fields, _FRAMES)


def _equal(
    symbols: Symbols,
    axes: list[ast.expr],
    fields: Mapping[str, Field],
    titles: Sequence[str],
) -> None:
    """Let axes of which nothing is known have the size of the first field of these names."""
    known = next((f for f in fields if f in titles), None)
    if known is None or fields[known].word != "Size":
        return
    if all(is_symbol(symbols.find(a)) for a in axes):
        for axis in axes:
            symbols.equal(axis, expression(f"self.{known}"))
