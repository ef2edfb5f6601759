"""`mlax-scaffold new-optimizer`."""

from __future__ import annotations

import click

from mlax_scaffold.cli import options


@click.command(epilog="Example: mlax-scaffold new-optimizer SlowAdam --like Adam")
@click.argument("name")
@click.option(
    "--like",
    metavar="EXISTING",
    shell_complete=options.complete_names,
    help="Start from a copy of the spec of this optimizer.",
)
@click.option("--no-test", is_flag=True, help="Do not run its tests, only import it.")
@options.project
@options.dry_run
@options.show_diff
@options.quiet
@options.output_format("json")
def command(
    name: str,
    like: str | None,
    no_test: bool,
    directory: str | None,
    dry_run: bool,
    show_diff: bool,
    quiet: bool,
    style: str,
) -> None:
    """Create an optimizer: its spec, code, tests and docs.

    The spec starts from a small working optimizer, or from a copy of
    an existing one. All that follows from it is generated, tried out in a copy, and
    written together; where something fails, nothing is.
    """
    from mlax_scaffold.cli.creation import Creation, Request
    from mlax_scaffold.cli.workspace import Workspace
    from mlax_scaffold.model.definition import Kind

    request = Request(
        "new-optimizer",
        Kind.OPTIMIZER,
        name,
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
