"""Shapes of Fourier transforms."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Number, Several, Value
from mlax_scaffold.conversion.source.trees import expression, folded, literal

_PLANES = ("fft2", "ifft2", "rfft2", "irfft2")
FOURIER = ("fft", "ifft", "rfft", "irfft", *_PLANES)


def fourier(
    symbols: Symbols, title: str, array: Array, node: ast.Call, told: Value
) -> Value:
    """The shape of a transform; `told` is how long the axes are told to be."""
    if title in _PLANES:
        return _of_plane(symbols, title, array, node, told)
    at = next((literal(k.value) for k in node.keywords if k.arg == "axis"), -1)
    if not isinstance(at, int) or (at >= 0 and array.lead):
        return None
    axis = symbols.axis(array, at)
    if axis is None:
        return None
    axes = list(array.axes)
    axes[at] = _length(title, axis, told)
    return array.like(axes)


def _length(title: str, axis: ast.expr, told: Value) -> ast.expr:
    """How long an axis is behind a transform."""
    length = told.value if isinstance(told, Number) else axis
    if title.startswith("rfft"):
        return folded(expression("n // 2 + 1", n=length))
    if title.startswith("irfft") and length is axis:
        return folded(expression("2 * (n - 1)", n=length))
    return length


def _of_plane(
    symbols: Symbols, title: str, array: Array, node: ast.Call, told: Value
) -> Value:
    """The shape of a transform along the last two axes."""
    given = {k.arg: k.value for k in node.keywords}
    if "axes" in given and literal(given["axes"]) not in ((-2, -1), None):
        return None
    if array.lead and not array.axes and told is None:
        # It has as many axes as the array, of which nothing else is known; the last one may be shorter.
        made = Array([], True, array.kind)
        made.parts, made.cut, made.along = [array], True, -1
        return made
    sides = [symbols.axis(array, at) for at in (-1, -2)]
    if sides[0] is None or sides[1] is None:
        return None
    lengths = told.items if isinstance(told, Several) else []
    height, width = lengths if len(lengths) == 2 else (None, None)
    axes = list(array.axes)
    axes[-1] = _length(title, sides[0], width)
    axes[-2] = _length("fft", sides[1], height)
    return array.like(axes)
