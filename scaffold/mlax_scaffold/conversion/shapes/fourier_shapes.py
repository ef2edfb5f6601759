"""Shapes of Fourier transforms along one axis."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import expression, folded, literal

FOURIER = ("fft", "ifft", "rfft", "irfft")


def fourier(
    symbols: Symbols, title: str, array: Array, node: ast.Call, number: ast.expr | None
) -> Value:
    """The shape of a transform; `number` is how long the axis is told to be."""
    at = next((literal(k.value) for k in node.keywords if k.arg == "axis"), -1)
    if not isinstance(at, int) or (at >= 0 and array.lead):
        return None
    axis = symbols.axis(array, at)
    if axis is None:
        return None
    length = number if number is not None else axis
    if title == "rfft":
        length = folded(expression("n // 2 + 1", n=length))
    elif title == "irfft" and number is None:
        length = folded(expression("2 * (n - 1)", n=length))
    axes = list(array.axes)
    axes[at] = length
    return array.like(axes)
