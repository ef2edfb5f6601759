"""Channels of examples that heads and groups divide: `nn.GroupNorm()` of flax has 32."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mlax_scaffold.conversion.examples.computing import computed
from mlax_scaffold.conversion.examples.nested_examples import Fitted
from mlax_scaffold.conversion.output.description import Described
from mlax_scaffold.conversion.source.first_passes import of_comprehension
from mlax_scaffold.conversion.source.trees import literal, replaced, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_MOST = 128
"""What is wider makes tests slow."""


def with_whole_groups(
    definitions: list[Described], fitted: Mapping[str, Fitted]
) -> list[Described]:
    """Definitions whose examples have such channels, where others were chosen."""
    known = {d.name: d for d in definitions}
    return [
        _widened(d, fitted[d.name], known) if d.name in fitted and d.example else d
        for d in definitions
    ]


def _widened(
    definition: Described, fitted: Fitted, known: Mapping[str, Described]
) -> Described:
    fields = {f.name: literal(f.default) for f in definition.fields if f.default}
    values = {**fields, **dict(definition.example)}
    given: dict[str, object] = {}
    for field, groups in _asked(definition, known, values, 0):
        made = _multiple(given.get(field, values.get(field)), groups)
        if made is not None:
            given[field] = made
    if not given:
        return definition
    kept = {k: v for k, v in definition.example if k in {f.name for f in fitted.fields}}
    example = fitted.example(definition, {**kept, **given})
    if not example:
        return definition
    chosen, tried = dict(example), definition.trial
    if tried is not None:
        tried = replace(
            tried,
            hyperparameters=tuple(
                (k, chosen.get(k, v)) for k, v in tried.hyperparameters
            ),
            inputs=tuple((k, chosen.get(k, v)) for k, v in tried.inputs),
        )
    return replace(definition, example=example, trial=tried)


def _multiple(value: object, groups: int) -> object:
    """The next size, or sizes, that so many groups divide; None where that is nothing to be tried."""
    sizes = value if isinstance(value, tuple) else (value,)
    whole = [size for size in sizes if isinstance(size, int) and size > 0]
    made = tuple(math.lcm(size, groups) for size in whole)
    if len(whole) < len(sizes) or max(made, default=0) > _MOST:
        return None
    return made if isinstance(value, tuple) else made[0]


def _asked(
    definition: Described,
    known: Mapping[str, Described],
    values: Mapping[str, object],
    depth: int,
) -> Iterator[tuple[str, int]]:
    """The fields whose sizes groups do not divide with these values, and how many groups."""
    for part in definition.setup:
        yield from _within(part, known, values, depth)


def _within(
    node: ast.AST,
    known: Mapping[str, Described],
    values: Mapping[str, object],
    depth: int,
) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.ListComp):
        first = of_comprehension(node.generators)
        yield from _within(replaced(node.elt, first), known, values, depth)
        return
    for child in ast.iter_child_nodes(node):
        yield from _within(child, known, values, depth)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return
    mark, _, title = node.func.id.partition(":")
    for count, width in _grouped(node, title) if mark == "@layer" else ():
        groups, size = computed(count, values), computed(width, values)
        whole = isinstance(groups, int) and isinstance(size, int) and groups > 0
        if whole and size % groups:  # type: ignore[operator]
            for field in _read(width):
                yield field, groups  # type: ignore[misc]
    inner = known.get(title)
    if mark == "@own" and inner is not None and depth < 6:
        places = inner.arguments(node)
        fields = {f.name: literal(f.default) for f in inner.fields if f.default}
        told = {n: computed(v, values) for n, v in places.items()}
        given = {**fields, **{k: v for k, v in told.items() if v is not None}}
        for field, groups in _asked(inner, known, given, depth + 1):
            for outer in _read(places[field]) if field in places else ():
                yield outer, groups


def _grouped(node: ast.Call, title: str) -> Iterator[tuple[ast.expr, ast.expr]]:
    """How many groups a layer has, with each number of channels that they divide."""
    if title == "GroupNorm" and len(node.args) > 1:
        yield node.args[0], node.args[1]
    if title in ("MultiHeadAttention", "TransformerEncoderLayer") and not any(
        k.arg == "head_features" for k in node.keywords
    ):
        for heads in node.args[1:2]:
            yield heads, node.args[0]
    groups = next((k.value for k in node.keywords if k.arg == "groups"), None)
    if title in ("Conv", "ConvTranspose") and groups is not None:
        for width in node.args[1:3]:
            yield groups, width


def _read(size: ast.expr) -> list[str]:
    """The fields that a size is computed of."""
    return [a for part in walk(size) if (a := self_attribute(part))]
