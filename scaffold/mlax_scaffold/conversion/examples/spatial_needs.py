"""Images of examples that are large enough for the windows without padding that they go through."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.examples.computing import computed
from mlax_scaffold.conversion.examples.larger_images import (
    SPATIAL,
    axes_of,
    enlarged,
    forward_of,
)
from mlax_scaffold.conversion.examples.longest_ways import longest_way
from mlax_scaffold.conversion.output.description import Described
from mlax_scaffold.conversion.source.trees import literal, self_attribute

_MOST = 72
"""What is larger makes tests slow."""
_SEVERAL = 8
_LAYERS = ("Conv", "MaxPool", "AvgPool", "MinPool")
_FUNCTIONS = ("max_pool", "avg_pool")


def with_spatial_needs(definitions: list[Described]) -> list[Described]:
    """Definitions whose examples have such images, where they had smaller ones."""
    known = {d.name: d for d in definitions}
    return [
        _enlarged(d, _needed(_windows(d, known, dict(d.example), 0)))
        for d in definitions
    ]


@dataclass(frozen=True)
class _Window:
    size: int
    stride: int
    padding: int


def _needed(windows: list[_Window], last: int = 1) -> int:
    """How large an image is that is of so many pixels behind all windows."""
    size = last
    for window in reversed(windows):
        size = max(1, (size - 1) * window.stride + window.size - 2 * window.padding)
    return size


def _length(windows: list[_Window]) -> int:
    """What tells ways through layers apart: behind some of them one pixel may be left of one."""
    return _needed(windows, _SEVERAL)


def _windows(
    definition: Described,
    known: Mapping[str, Described],
    given: Mapping[str, object],
    depth: int,
) -> list[_Window]:
    """The windows of a definition with these values, of the longest way through it."""
    values = {f.name: literal(f.default) for f in definition.fields if f.default}
    values = {k: v for k, v in values.items() if not isinstance(v, ast.AST)} | {**given}
    layers: dict[str, list[_Window]] = {}
    for part in definition.setup:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                number = computed(value, values)
                values[local] = literal(value) if number is None else number
        if isinstance(part, ast.Assign):
            attribute = self_attribute(part.targets[0]) or ""
            passes = _passes(part.value, values)
            each = part.value.elt if isinstance(part.value, ast.ListComp) else part
            found = [
                w
                for told in passes
                for w in _within(each, known, {**values, **told}, depth)
            ]
            layers[attribute] = found

    def made(node: ast.Call) -> list[_Window]:
        return [*_made(node, known, values, depth)]

    return longest_way(definition.methods, layers, made, _length)


def _passes(node: ast.expr, values: Mapping[str, object]) -> list[dict[str, object]]:
    """What each pass of a comprehension counts, for as many as are tried."""
    if not isinstance(node, ast.ListComp):
        return [{}]
    generator = node.generators[0]
    pairs = [(generator.target, generator.iter)]
    match generator:
        case ast.comprehension(
            target=ast.Tuple(elts=titles),
            iter=ast.Call(func=ast.Name(id="zip"), args=over),
        ):
            pairs = [*zip(titles, over, strict=False)]
    for target, over in pairs:
        match over:
            case ast.Call(func=ast.Name(id="range"), args=[count]):
                number = computed(count, values)
                title = target.id if isinstance(target, ast.Name) else ""
                if isinstance(number, int):
                    return [{title: i} for i in range(min(number, 8))]
    return [{}]


def _within(
    node: ast.AST,
    known: Mapping[str, Described],
    values: Mapping[str, object],
    depth: int,
) -> Iterator[_Window]:
    if isinstance(node, ast.IfExp):
        there = _holds(node.test, values)
        sides = [node.body] * (there is not False) + [node.orelse] * (there is not True)
        for side in sides:
            yield from _within(side, known, values, depth)
        return
    for child in ast.iter_child_nodes(node):
        yield from _within(child, known, values, depth)
    if isinstance(node, ast.Call):
        yield from _made(node, known, values, depth)


def _made(
    node: ast.Call,
    known: Mapping[str, Described],
    values: Mapping[str, object],
    depth: int,
) -> Iterator[_Window]:
    """The windows of the layer that a call makes, or of the function that it is one of."""
    if not isinstance(node.func, ast.Name):
        return
    mark, _, title = node.func.id.partition(":")
    inner = known.get(title)
    if mark == "@own" and inner is not None and depth < 6:
        told = {n: _told(v, values) for n, v in inner.arguments(node).items()}
        given = dict(inner.example) | {k: v for k, v in told.items() if v is not None}
        yield from _windows(inner, known, given, depth + 1)
        return
    given = {k.arg: k.value for k in node.keywords}
    if mark == "@layer" and title in _LAYERS:
        at = 3 if title == "Conv" else 1
        size = node.args[at] if len(node.args) > at else given.get("window")
        size = given.get("kernel_size", size)
    elif mark == "@word" and title in _FUNCTIONS:
        size = given.get("window")
    else:
        return
    window = _number(size, values, 1)
    default = window if title != "Conv" else 1
    stride = _number(given.get("strides"), values, default)
    same = window // 2 if title == "Conv" or given.get("padding") is not None else 0
    none = literal(given.get("padding")) == "VALID"
    padding = 0 if none else _number(given.get("padding"), values, same)
    dilation = _number(given.get("dilation"), values, 1)
    if window > 0 and stride > 0:
        yield _Window((window - 1) * dilation + 1, stride, padding)


def _told(node: ast.expr, values: Mapping[str, object]) -> object:
    if isinstance(node, ast.IfExp):
        holds = _holds(node.test, values)
        if holds is not None:
            return _told(node.body if holds else node.orelse, values)
    made = computed(node, values)
    if made is None and not isinstance(literal(node), ast.AST):
        return literal(node)
    return made


def _holds(test: ast.expr, values: Mapping[str, object]) -> bool | None:
    """Whether a condition holds; None where that is not told."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _holds(operand, values)
            return None if inner is None else not inner
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            one, other = _told(left, values), _told(right, values)
            return None if one is None or other is None else one == other
        case ast.Attribute(attr=attr):
            value = values.get(attr)
            return None if value is None else bool(value)
    return None


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
    forward = forward_of(definition)
    if forward is None or needed > _MOST:
        return definition
    images = [a for a in forward.args.args if {*SPATIAL} <= {*axes_of(a)}]
    return enlarged(definition, images, dict.fromkeys(SPATIAL, needed))
