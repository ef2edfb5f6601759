"""Checks that what a class says of axes is said of axes that there are."""

from __future__ import annotations

from collections.abc import Iterator

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.arrays import ArrayType
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.invariances import INFERENCE
from mlax_scaffold.spelling import did_you_mean


def check_invariances(definition: Definition) -> Iterator[Diagnostic]:
    """Every finding in the invariances of a definition."""
    if not definition.invariances or not definition.entries:
        return
    method = definition.entry
    axes = {name for i in method.inputs for name in _axes(i.type)}
    results = set(_axes(method.returns)) if method.returns else set()
    fields = [INFERENCE, *(h.name for h in definition.hyperparameters)]
    for invariance in definition.invariances:
        said = f'"{invariance}"'
        if invariance.axis not in axes:
            yield definition.finding(
                f"{said}: no input has an axis `{invariance.axis}`",
                did_you_mean(invariance.axis, sorted(axes)),
            )
        elif invariance.kind != "permutable" and invariance.axis not in results:
            yield definition.finding(
                f"{said}: the result has no axis `{invariance.axis}`",
                "Name it in the type that `forward` returns.",
            )
        if invariance.field and invariance.field not in fields:
            yield definition.finding(
                f"{said}: there is no field `{invariance.field}`",
                did_you_mean(invariance.field, fields),
            )


def _axes(array: ArrayType) -> Iterator[str]:
    for shape in array.shapes:
        yield from shape.names()
