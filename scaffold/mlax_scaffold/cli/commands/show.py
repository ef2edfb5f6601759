"""`mlax-scaffold show`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from mlax_scaffold.cli import options


@click.command(
    epilog="Example: mlax-scaffold show Linear --set in_features=512 --jaxpr bfloat16"
)
@click.argument("name", shell_complete=options.complete_names)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Value of a hyperparameter; may be repeated.",
)
@click.option(
    "--jaxpr",
    "dtype",
    type=click.Choice(["float16", "bfloat16", "float32", "float64"]),
    help="Also show the jaxpr on inputs and weights of this dtype.",
)
@click.option(
    "--inference", is_flag=True, help="With --jaxpr: in inference, not in training."
)
@options.project
@options.output_format("json")
def command(
    name: str,
    settings: tuple[str, ...],
    dtype: str | None,
    inference: bool,
    directory: str | None,
    style: str,
) -> None:
    """Show one definition: signatures, shapes, hyperparameters, weights, jaxpr.

    Weights are counted for the given hyperparameters, with examples in the place of
    those that have no default. Nothing is computed: jax only traces.
    """
    import json

    from mlax_scaffold.project.description import describe
    from mlax_scaffold.project.workspace import Workspace

    values: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise click.BadParameter(
                f'"{setting}" is no KEY=VALUE, such as in_features=512',
                param_hint="--set",
            )
        values[key.strip()] = value.strip()
    described = describe(
        Workspace.find(directory), name, values, dtype=dtype, inference=inference
    )
    if style == "json":
        click.echo(json.dumps(described, indent=2))
    else:
        click.echo(_text(described))


def _text(described: Mapping[str, Any]) -> str:
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
