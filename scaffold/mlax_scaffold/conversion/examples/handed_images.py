"""Images of examples that are as large at least as those of the parts that they are handed to as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.conversion.examples.larger_images import (
    SPATIAL,
    axes_of,
    enlarged,
    forward_of,
)
from mlax_scaffold.conversion.output.description import Described
from mlax_scaffold.conversion.source.trees import self_attribute, targets
from mlax_scaffold.conversion.source.walking import walk


def with_handed_images(definitions: list[Described]) -> list[Described]:
    """Definitions, those that others are made of first, with such images in their examples."""
    known: dict[str, Described] = {}
    for definition in definitions:
        sizes: dict[str, int] = {}
        for shape, axes in _handed(definition, known):
            for size, axis in zip(shape, axes, strict=True):
                if axis in SPATIAL:
                    sizes[axis] = max(size, sizes.get(axis, 0))
        forward = forward_of(definition)
        every = forward.args.args if forward is not None else []
        known[definition.name] = enlarged(definition, every, sizes)
    return [known[d.name] for d in definitions]


def _handed(
    definition: Described, known: Mapping[str, Described]
) -> Iterator[tuple[tuple[int, ...], list[str]]]:
    """The images that parts are tried with, where an input of the layer is handed to them."""
    forward = forward_of(definition)
    if forward is None:
        return
    parts = {
        attribute: call.func.id.partition(":")[2]
        for part in definition.setup
        if isinstance(part, ast.Assign)
        and (attribute := self_attribute(part.targets[0])) is not None
        and isinstance(call := part.value, ast.Call)
        and isinstance(call.func, ast.Name)
    }
    images = {a.arg for a in forward.args.args if {*SPATIAL} <= {*axes_of(a)}}
    for statement in forward.body:
        for call in walk(statement):
            if not isinstance(call, ast.Call):
                continue
            inner = known.get(parts.get(self_attribute(call.func) or "", ""))
            taken = forward_of(inner) if inner is not None else None
            places = taken.args.args[1:] if taken is not None else []
            for given, argument in zip(call.args, places, strict=False):
                shape = dict(inner.example).get(argument.arg) if inner else None
                handed = isinstance(given, ast.Name) and given.id in images
                axes = axes_of(argument)
                if handed and isinstance(shape, tuple) and len(shape) == len(axes):
                    yield shape, axes
        images -= {*targets(statement)}
