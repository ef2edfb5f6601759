"""`mlax-scaffold show`."""

from __future__ import annotations

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

    from mlax_scaffold.cli.description import describe, text_of
    from mlax_scaffold.cli.workspace import Workspace

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
        click.echo(text_of(described))
