"""Axes of which an input has one element where nothing else fits: `Bool["# batch _ keys keys"]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable


def with_single_axes(
    shapes: dict[str, object], methods: Iterable[ast.FunctionDef]
) -> dict[str, object]:
    """Shapes, with one element along axes of masks that types say to be of one, or do not name."""
    made = dict(shapes)
    for method in methods:
        for argument in (*method.args.args, *method.args.kwonlyargs):
            shape = shapes.get(argument.arg)
            axes = _axes(argument.annotation)
            if isinstance(shape, tuple) and axes and axes[0].startswith("*"):
                # It stands for as many axes as there are beside the others.
                axes[:1] = [axes[0]] * (len(shape) - len(axes) + 1)
            if isinstance(shape, tuple) and len(shape) == len(axes):
                pairs = zip(shape, axes, strict=True)
                made[argument.arg] = tuple(
                    1 if a in ("1", "_") else s for s, a in pairs
                )
    return made


def _axes(annotation: ast.expr | None) -> list[str]:
    """The axes of a type of what is broadcast; none of any other."""
    text = ast.unparse(annotation) if annotation is not None else ""
    found = re.search(r"\['# (\*?[^'*]*)'\]", text)
    return found.group(1).split() if found else []
