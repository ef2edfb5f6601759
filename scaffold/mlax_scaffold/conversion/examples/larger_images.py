"""Examples with larger images than they have."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace

from mlax_scaffold.conversion.output.description import Described

SPATIAL = ("height", "width")
"""What the axes of images are called."""


def forward_of(definition: Described) -> ast.FunctionDef | None:
    """What a definition is called by; None where it has none."""
    return next((m for m in definition.methods if m.name == "forward"), None)


def axes_of(argument: ast.arg) -> list[str]:
    """The axes that the type of an input names."""
    parts = ast.unparse(argument.annotation or ast.Constant("")).split("'")
    return parts[1].split() if len(parts) > 1 else []


def enlarged(
    definition: Described, arguments: Iterable[ast.arg], sizes: Mapping[str, int]
) -> Described:
    """A definition whose example has axes of those inputs that are so large at least, by their names."""
    shapes = dict(definition.example)
    larger: dict[str, tuple[int, ...]] = {}
    for argument in arguments:
        axes, shape = axes_of(argument), shapes.get(argument.arg)
        if isinstance(shape, tuple) and len(shape) == len(axes):
            pairs = zip(axes, shape, strict=True)
            made = tuple(max(s, sizes.get(a, s)) for a, s in pairs)
            if made != shape:
                larger[argument.arg] = made
    if not larger:
        return definition
    example = tuple((k, larger.get(k, v)) for k, v in definition.example)
    tried = definition.trial
    if tried is not None:
        inputs = tuple((k, larger.get(k, v)) for k, v in tried.inputs)
        tried = replace(tried, inputs=inputs)
    return replace(definition, example=example, trial=tried)
