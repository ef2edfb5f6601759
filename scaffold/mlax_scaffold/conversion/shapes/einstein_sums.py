"""The shapes that the equation of an `einsum` tells: of what it is given, and of its result."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value


def summed(symbols: Symbols, text: object, given: list[Value]) -> Value:
    """The result; what is given gets its axes.

    Args:
        symbols: the sizes.
        text: the equation; nothing is told where it is no text.
        given: what is summed.
    """
    if not isinstance(text, str) or "->" not in text:
        return None
    operands, _, result = text.replace(" ", "").partition("->")
    sizes: dict[str, ast.expr] = {}
    dots: list[ast.expr] | None = None
    arrays = [value for value in given if isinstance(value, Array)]
    truths = [array for array in arrays if array.kind == "Bool"]
    for array in truths if len(truths) == len(given) else ():
        # What nothing but masks is contracted to counts, as sums of truths do not.
        array.of_numbers()
    for letters, value in zip(operands.split(","), given, strict=False):
        if not isinstance(value, Array):
            continue
        plain = letters.replace("...", "")
        if "..." not in letters:
            symbols.ranked(value, list(plain))
        for i, letter in enumerate(reversed(plain), 1):
            if "..." in letters and not letters.endswith(plain):
                break
            axis = symbols.axis(value, -i)
            if axis is None:
                continue
            if letter in sizes:
                symbols.equal(sizes[letter], axis)
            sizes[letter] = axis
        if letters.startswith("...") and not value.lead and dots is None:
            dots = value.axes[: len(value.axes) - len(plain)]
    plain = result.replace("...", "")
    axes = [sizes.get(letter) or symbols.fresh("_") for letter in plain]
    if result.startswith("...") and dots is not None:
        return Array([*dots, *axes], False)
    return Array(axes, "..." in result)
