"""What `show` tells of a definition."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import click

from mlax_scaffold.cli.lookup import find_definition
from mlax_scaffold.cli.signatures import signatures
from mlax_scaffold.cli.staging import staged
from mlax_scaffold.cli.workspace import Generation, Workspace
from mlax_scaffold.errors import MlaxScaffoldError, UsageError, did_you_mean
from mlax_scaffold.model.definition import (
    ArrayType,
    Definition,
    Hyperparameter,
    Kind,
    MethodRole,
)

_PROGRAM = "from mlax_scaffold.cli.inspection import main; main()"
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
    texts = {o.path: o.text for o in made.of(definition.source)}
    result: dict[str, Any] = {
        "name": str(definition.reference),
        "kind": definition.kind.name.lower(),
        "summary": definition.summary,
        "description": definition.description,
        "source": definition.source,
        "signatures": signatures(definition, workspace.project, texts),
        "shapes": _shapes(definition),
        "hyperparameters": [
            {"name": h.name, "takes": h.type.takes, "default": h.default, "doc": h.doc}
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


def text_of(described: Mapping[str, Any]) -> str:
    """The description as text."""
    name = click.style(described["name"], bold=True)
    blocks = [f"{name}  {described['kind']}, from {described['source']}"]
    blocks.append(described["summary"])
    if described["description"]:
        blocks.append(described["description"])
    blocks.append("\n".join(described["signatures"]))
    blocks.append(_table("Shapes", described["shapes"]))
    rows = [
        [
            h["name"] if h["default"] is None else f"{h['name']} = {h['default']}",
            f"{h['doc']} ({h['takes']})" if h["doc"] else h["takes"],
        ]
        for h in described["hyperparameters"]
    ]
    blocks.append(_table("Hyperparameters", rows))
    if "weights" in described:
        example = ", ".join(f"{k}={v}" for k, v in described["values"].items())
        given = f" with {example}" if example else ""
        for title, key in (("Weights", "weights"), ("State", "state")):
            leaves = described[key]
            rows = [[w["name"], _array_text(w["shape"], w["dtype"])] for w in leaves]
            blocks.append(_table(title + given, rows))
        number = described["parameters"]
        blocks.append(f"{number:,} trainable parameters{given}.")
    if described.get("note"):
        blocks.append(described["note"])
    if described.get("jaxpr"):
        blocks.append(_title("Jaxpr") + "\n" + described["jaxpr"])
    return "\n\n".join(block for block in blocks if block)


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
    for method in definition.methods:
        if method.role is MethodRole.ENTRY:
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
    entry = next(m for m in definition.methods if m.role is MethodRole.ENTRY)
    task = {
        "module": f"{workspace.project.package}.{definition.section}",
        "name": definition.name,
        "kind": "layer" if layer else "function",
        "values": values,
        "defaults": {h.name: h.default for h in fields if h.default is not None},
        "inputs": [
            _plain(i.type, definition.example_shapes.get(i.name))
            for i in entry.positional
            if i.default is None
        ],
        "keywords": {
            i.name: _plain(i.type) for i in entry.keyword if i.default is None
        },
        "dtype": dtype,
        "takes_key": bool(traits and traits.takes_key),
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
        return repr(hyperparameter.type.choices[0])
    return hyperparameter.type.word.example


def _plain(array: ArrayType, example: tuple[int, ...] | None = None) -> list[Any]:
    """Kind and shape of an array; `example` are the sizes of one that fits."""
    shape = None if array.shape is None else str(array.shape)
    shape = shape if example is None else " ".join(map(str, example))
    return [array.kind, shape, [_plain(item) for item in array.items]]


def _last_line(output: str) -> dict[str, Any] | None:
    try:
        return json.loads(output.strip().rpartition("\n")[2])
    except ValueError:
        return None


def _assignments(values: Mapping[str, str]) -> str:
    return "with " + (
        ", ".join(f"{k}={v}" for k, v in values.items()) or "its defaults"
    )


def _array_text(shape: list[int], dtype: str) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"


def _title(text: str) -> str:
    return click.style(text, bold=True)


def _table(title: str, rows: list[list[str]]) -> str:
    if not rows:
        return ""
    width = max(len(row[0]) for row in rows)
    lines = [f"  {first:{width}}  {second}" for first, second in rows]
    return "\n".join([_title(title), *lines])
