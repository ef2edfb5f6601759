"""`mlax-scaffold new-layer`."""

from __future__ import annotations

import click

from mlax_scaffold.cli import options


class LazyArchetypes(click.Choice):
    """The archetypes there are templates of."""

    def __init__(self) -> None:
        from mlax_scaffold.cli.archetypes import archetypes

        super().__init__(archetypes())


@click.command(epilog="Example: mlax-scaffold new-layer GatedAttention")
@click.argument("name")
@click.option(
    "--archetype",
    type=LazyArchetypes(),
    help="What to start from; default: what the name suggests.",
)
@click.option(
    "--like",
    metavar="EXISTING",
    shell_complete=options.complete_names,
    help="Start from a copy of the spec of this layer.",
)
@click.option("--no-test", is_flag=True, help="Do not run its tests, only import it.")
@options.project
@options.dry_run
@options.show_diff
@options.quiet
@options.output_format("json")
def command(
    name: str,
    archetype: str | None,
    like: str | None,
    no_test: bool,
    directory: str | None,
    dry_run: bool,
    show_diff: bool,
    quiet: bool,
    style: str,
) -> None:
    """Create a layer: its spec, code, tests and docs.

    The spec starts from an archetype, such as "attention" for a name that ends so, or from a copy of
    an existing one. All that follows from it is generated, tried out in a copy, and
    written together; where something fails, nothing is.
    """
    if archetype is not None and like is not None:
        raise click.UsageError("--archetype and --like exclude each other")
    from mlax_scaffold.cli.creation import Creation, Request
    from mlax_scaffold.cli.workspace import Workspace
    from mlax_scaffold.model.definition import Kind

    request = Request(
        "new-layer",
        Kind.LAYER,
        name,
        archetype=archetype,
        like=like,
        test=not no_test,
        quiet=quiet,
        style=style,
    )
    creation = Creation(Workspace.find(directory), request)
    if dry_run or show_diff:
        creation.preview(show_diff=show_diff)
    else:
        creation.run()
