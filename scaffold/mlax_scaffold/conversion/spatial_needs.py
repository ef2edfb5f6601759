"""Images of examples that are large enough for the windows without padding that they go through."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mlax_scaffold.conversion.description import Described
from mlax_scaffold.conversion.examples import computed
from mlax_scaffold.conversion.trees import literal

_SPATIAL = ("height", "width")
_MOST = 72
"""What is larger makes tests slow."""
_LAYERS = ("Conv", "MaxPool", "AvgPool", "MinPool")
_FUNCTIONS = ("max_pool", "avg_pool")


def with_spatial_needs(definitions: list[Described]) -> list[Described]:
    """Definitions whose examples have such images, where they had smaller ones."""
    known: dict[str, list[_Window]] = {}
    made: list[Described] = []
    for definition in definitions:
        windows = [*_windows(definition, known)]
        known[definition.name] = windows
        made.append(_enlarged(definition, _needed(windows)))
    return made


@dataclass(frozen=True)
class _Window:
    size: int
    stride: int
    padding: int


def _needed(windows: list[_Window]) -> int:
    """How large an image is that is of one pixel behind all windows."""
    size = 1
    for window in reversed(windows):
        size = max(1, (size - 1) * window.stride + window.size - 2 * window.padding)
    return size


def _windows(
    definition: Described, known: Mapping[str, list[_Window]]
) -> Iterator[_Window]:
    values = dict(definition.example)
    defaults = {f.name: literal(f.default) for f in definition.fields if f.default}
    values = {k: v for k, v in defaults.items() if type(v) is int} | values
    for part in definition.setup:
        times = 1
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.ListComp):
            match part.value.generators[0].iter:
                case ast.Call(func=ast.Name(id="range"), args=[count]):
                    number = computed(count, values)
                    times = number if isinstance(number, int) else 1
        yield from [*_within(part, known, values)] * max(0, min(times, 8))
    for method in definition.methods:
        yield from _within(method, known, values)


def _within(
    node: ast.AST, known: Mapping[str, list[_Window]], values: Mapping[str, object]
) -> Iterator[_Window]:
    for part in ast.walk(node):
        if not isinstance(part, ast.Call) or not isinstance(part.func, ast.Name):
            continue
        mark, _, title = part.func.id.partition(":")
        if mark == "@own":
            yield from known.get(title, ())
        given = {k.arg: k.value for k in part.keywords}
        if mark == "@layer" and title in _LAYERS:
            at = 3 if title == "Conv" else 1
            size = part.args[at] if len(part.args) > at else given.get("window")
            size = given.get("kernel_size", size)
        elif mark == "@word" and title in _FUNCTIONS:
            size = given.get("window")
        else:
            continue
        window = _number(size, values, 1)
        default = window if title not in ("Conv",) else 1
        stride = _number(given.get("strides"), values, default)
        padding = _number(given.get("padding"), values, None)
        if padding is None:
            padding = window // 2
        dilation = _number(given.get("dilation"), values, 1)
        if window > 0 and stride > 0:
            yield _Window((window - 1) * dilation + 1, stride, padding)


def _number(node: ast.expr | None, values: Mapping[str, object], default):
    """The number that an argument is in the example, of all axes the largest."""
    if node is None:
        return default
    made = computed(node, values)
    made = literal(node) if made is None else made
    if isinstance(made, tuple | list) and made and all(type(v) is int for v in made):
        return max(made)
    return made if type(made) is int else default


def _enlarged(definition: Described, needed: int) -> Described:
    forward = next((m for m in definition.methods if m.name == "forward"), None)
    if forward is None or needed > _MOST:
        return definition
    shapes = dict(definition.example)
    larger: dict[str, tuple[int, ...]] = {}
    for argument in forward.args.args:
        axes = ast.unparse(argument.annotation or ast.Constant("")).split("'")
        names = axes[1].split() if len(axes) > 1 else []
        shape = shapes.get(argument.arg)
        if not isinstance(shape, tuple) or len(shape) != len(names):
            continue
        if not {*_SPATIAL} <= {*names}:
            continue
        made = tuple(
            max(s, needed) if n in _SPATIAL else s
            for s, n in zip(shape, names, strict=True)
        )
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
