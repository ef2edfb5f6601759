"""Reads `smooth_at={"x": (0.1, 1.0)}`, which says where a definition is smooth."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.arrays import COMPUTING
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.smooth import SmoothAt
from mlax_scaffold.reader.source import Source
from mlax_scaffold.spelling import did_you_mean

FORM = '`smooth_at={"x": (0.1, 1.0)}`'


def read_smooth_at(source: Source, node: ast.expr) -> tuple[SmoothAt, ...]:
    """What the dictionary says; what is wrong with it is reported."""
    if not isinstance(node, ast.Dict):
        source.report(
            node, "smooth_at maps names to ranges of values", f"Write {FORM}."
        )
        return ()
    return tuple(_ranges(source, node))


def _ranges(source: Source, node: ast.Dict) -> Iterator[SmoothAt]:
    for key, value in zip(node.keys, node.values, strict=True):
        match key, _number_pair(value):
            case ast.Constant(value=str(name)), (low, high) if low < high:
                yield SmoothAt(name, low, high, source.location(key))
            case _:
                source.report(
                    key or value,
                    "a range is a name with two numbers, the lower one first",
                    f"Write {FORM}.",
                )


def _number_pair(node: ast.expr) -> tuple[float, float] | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    match value:
        case (int() | float() as low, int() | float() as high) if math.isfinite(
            low
        ) and math.isfinite(high):
            return float(low), float(high)
    return None


def check_smooth_at(definition: Definition) -> list[Diagnostic]:
    """The names that are neither floating inputs nor weights."""
    inputs = definition.entry.inputs if definition.smooth_at else ()
    known = [i.name for i in inputs if i.type.kind in COMPUTING]
    known += [d.name for d in definition.weights]
    return [
        definition.finding(
            f"`{given.name}` is no floating input and no weight",
            did_you_mean(given.name, known) or f"Known: {', '.join(known)}.",
            given.location,
            len(given.name) + 2,
        )
        for given in definition.smooth_at
        if given.name not in known
    ]
