"""Types of what is broadcast, some axes of which nothing tells: `Float["... #queries #keys"]`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.output.description import Described
from mlax_scaffold.conversion.source.walking import walk


def with_open_axes(definitions: Iterable[Described]) -> list[Described]:
    """Definitions, whose inputs may have any size along an axis that they were tried with one element of."""
    made = list(definitions)
    for described in made:
        for method in described.methods:
            open_axes(method)
    return made


def open_axes(method: ast.FunctionDef) -> None:
    """Let what is broadcast have any axes up to the last one of which nothing tells the size.

    An example has one element there, which fits whatever it is broadcast to. A mask for each head fits,
    too, and so does one for all that has no such axis.
    """
    for argument in (*method.args.args, *method.args.kwonlyargs):
        if argument.annotation is None:
            continue
        for part in walk(argument.annotation):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                part.value = _opened(part.value)


def _opened(shape: str) -> str:
    mark, *axes = shape.split() or [""]
    if mark != "#" or "_" not in axes:
        return shape
    known = axes[len(axes) - axes[::-1].index("_") :]
    return " ".join(["...", *(f"#{a}" if a.isidentifier() else "_" for a in known)])
