"""What `show` tells of a definition."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from mlax_scaffold.errors import MlaxScaffoldError, UsageError
from mlax_scaffold.model.definition import (
    ArrayType,
    Definition,
    Hyperparameter,
    Kind,
)
from mlax_scaffold.project.lookup import find_definition
from mlax_scaffold.project.signatures import calls
from mlax_scaffold.project.staging import staged
from mlax_scaffold.project.workspace import Generation, Workspace
from mlax_scaffold.spelling import did_you_mean

_PROGRAM = "from mlax_scaffold.project.inspection import main; main()"
_TRACED = (Kind.LAYER, Kind.BLOCK, Kind.FUNCTION)


class InspectionError(MlaxScaffoldError):
    """The generated package could not be inspected: a fault."""


def describe(
    workspace: Workspace,
    name: str,
    values: Mapping[str, str],
    *,
    dtype: str | None = None,
    inference: bool = False,
) -> dict[str, Any]:
    """All that is to be told of a definition, ready for JSON.

    Args:
        workspace: the project.
        name: the definition's name.
        values: source text of values of hyperparameters.
        dtype: that of the jaxpr; None: no jaxpr.
        inference: whether the jaxpr is that of inference.

    Raises:
        UsageError: there is no such definition or hyperparameter, or a value will not do.
    """
    definition = find_definition(workspace, name, workspace.read())
    _check_values(definition, values)
    if dtype is not None and definition.kind not in _TRACED:
        raise UsageError(
            f"--jaxpr is for layers and functions; {definition.name} is a "
            f"{definition.kind.name.lower()}"
        )
    made = workspace.generate()
    result: dict[str, Any] = {
        "name": str(definition.reference),
        "kind": definition.kind.name.lower(),
        "summary": definition.summary,
        "description": definition.description,
        "source": definition.source,
        "signatures": calls(definition, made.library, workspace.project),
        "shapes": _shapes(definition),
        "hyperparameters": [
            {
                "name": h.name,
                "takes": h.type.takes,
                "default": h.default and h.default.text,
                "doc": h.doc,
            }
            for h in definition.hyperparameters
        ],
    }
    if definition.structural():
        if dtype is not None:
            raise UsageError(
                f"--jaxpr needs an example, and {definition.name} takes other layers: "
                "build the layer, and call jax.make_jaxpr on its fwd"
            )
        return result
    traced = definition.kind is not Kind.FUNCTION or dtype is not None
    if definition.kind in _TRACED and traced:
        result |= _inspect(workspace, made, definition, values, dtype, inference)
    return result


def _check_values(definition: Definition, values: Mapping[str, str]) -> None:
    known = [h.name for h in definition.hyperparameters]
    for key in values:
        if key not in known:
            names = (
                f"its hyperparameters are {', '.join(known)}"
                if known
                else "it has none"
            )
            hint = did_you_mean(key, known) or names
            raise UsageError(f'{definition.name} has no hyperparameter "{key}"; {hint}')


def _shapes(definition: Definition) -> list[list[str]]:
    rows = []
    for method in definition.entries:
        rows += [[i.name, str(i.type)] for i in method.inputs]
        if method.returns is not None:
            rows.append(["returns", str(method.returns)])
    return rows


def _inspect(
    workspace: Workspace,
    made: Generation,
    definition: Definition,
    given: Mapping[str, str],
    dtype: str | None,
    inference: bool,
) -> dict[str, Any]:
    layer = definition.kind is not Kind.FUNCTION
    traits = made.library.traits(definition.reference) if layer else None
    fields = definition.hyperparameters
    values = {h.name: _example(h) for h in fields if h.default is None}
    values |= definition.example_values | dict(given)
    entry = definition.entry
    task = {
        "module": f"{workspace.project.package}.{definition.section}",
        "name": definition.name,
        "kind": "layer" if layer else "function",
        "values": values,
        "defaults": {h.name: h.default.text for h in fields if h.default is not None},
        "inputs": [
            _plain(i.type, definition.example_shapes.get(i.name))
            for i in entry.positional
            if i.default is None
        ],
        "keywords": {
            i.name: _plain(i.type) for i in entry.keyword if i.default is None
        },
        "dtype": dtype,
        "takes_key": bool(traits and traits.keyed),
        "draws": bool(traits and traits.draws),
        "inference": inference,
    }
    with staged(workspace, made) as stage:
        outcome = stage.run(_PROGRAM, task)
    result = _last_line(outcome.output) if outcome.status == 0 else None
    if result is None:
        raise InspectionError(
            f"{definition.name} could not be inspected:\n{outcome.output.strip()}"
        )
    if "error" in result:
        if given or dtype is not None:
            raise UsageError(
                f"{definition.name}, {_assignments(values)}: {result['error']}"
            )
        # The examples do not fit this layer; the rest can be shown all the same.
        note = (
            f"Its weights are not shown, because {_assignments(values)} will not do: "
            f"{result['error']} Give values with --set."
        )
        return {"note": note}
    if layer:
        sizes = [math.prod(w["shape"]) for w in result["weights"]]
        result |= {"values": values, "parameters": sum(sizes)}
    return result


def _example(hyperparameter: Hyperparameter) -> str:
    """Source text of a value that a hyperparameter takes."""
    if hyperparameter.name == "spatial_dims":
        return "2"
    if hyperparameter.type.choices:
        return hyperparameter.type.example
    return hyperparameter.type.word.example


def _plain(array: ArrayType, example: tuple[int, ...] | None = None) -> list[Any]:
    """Kind and shape of an array; `example` are the sizes of one that fits."""
    shape = None if array.shape is None else str(array.shape)
    shape = shape if example is None else " ".join(map(str, example))
    return [array.kind, shape, [_plain(item) for item in array.items], array.keys]


def _last_line(output: str) -> dict[str, Any] | None:
    try:
        return json.loads(output.strip().rpartition("\n")[2])
    except ValueError:
        return None


def _assignments(values: Mapping[str, str]) -> str:
    return "with " + (
        ", ".join(f"{k}={v}" for k, v in values.items()) or "its defaults"
    )
