"""Images of examples that are as large at least as those of the parts that they are handed to as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mlax_scaffold.conversion.output.description import Described
from mlax_scaffold.conversion.source.trees import self_attribute, targets

_SPATIAL = ("height", "width")


def with_handed_images(definitions: list[Described]) -> list[Described]:
    """Definitions, those that others are made of first, with such images in their examples."""
    known: dict[str, Described] = {}
    for definition in definitions:
        sizes: dict[str, int] = {}
        for shape, axes in _handed(definition, known):
            for size, axis in zip(shape, axes, strict=True):
                if axis in _SPATIAL:
                    sizes[axis] = max(size, sizes.get(axis, 0))
        known[definition.name] = _of_sizes(definition, sizes)
    return [known[d.name] for d in definitions]


def _handed(
    definition: Described, known: Mapping[str, Described]
) -> Iterator[tuple[tuple[int, ...], list[str]]]:
    """The images that parts are tried with, where an input of the layer is handed to them."""
    forward = _forward(definition)
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
    images = {a.arg for a in forward.args.args if {*_SPATIAL} <= {*_axes(a)}}
    for statement in forward.body:
        for call in ast.walk(statement):
            if not isinstance(call, ast.Call):
                continue
            inner = known.get(parts.get(self_attribute(call.func) or "", ""))
            taken = _forward(inner) if inner is not None else None
            places = taken.args.args[1:] if taken is not None else []
            for given, argument in zip(call.args, places, strict=False):
                shape = dict(inner.example).get(argument.arg) if inner else None
                handed = isinstance(given, ast.Name) and given.id in images
                axes = _axes(argument)
                if handed and isinstance(shape, tuple) and len(shape) == len(axes):
                    yield shape, axes
        images -= {*targets(statement)}


def _forward(definition: Described) -> ast.FunctionDef | None:
    return next((m for m in definition.methods if m.name == "forward"), None)


def _axes(argument: ast.arg) -> list[str]:
    parts = ast.unparse(argument.annotation or ast.Constant("")).split("'")
    return parts[1].split() if len(parts) > 1 else []


def _of_sizes(definition: Described, sizes: Mapping[str, int]) -> Described:
    """A definition whose images are so large."""
    forward = _forward(definition)
    made = dict(definition.example)
    changed: dict[str, tuple[int, ...]] = {}
    for argument in forward.args.args if forward is not None and sizes else ():
        axes, shape = _axes(argument), made.get(argument.arg)
        if isinstance(shape, tuple) and len(shape) == len(axes):
            pairs = zip(axes, shape, strict=True)
            other = tuple(max(s, sizes.get(a, s)) for a, s in pairs)
            changed |= {argument.arg: other} if other != shape else {}
    if not changed:
        return definition
    example = tuple((k, changed.get(k, v)) for k, v in definition.example)
    tried = definition.trial
    if tried is not None:
        inputs = tuple((k, changed.get(k, v)) for k, v in tried.inputs)
        tried = replace(tried, inputs=inputs)
    return replace(definition, example=example, trial=tried)
