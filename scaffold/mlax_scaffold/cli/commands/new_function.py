"""`mlax-scaffold new-function`."""

from __future__ import annotations

import click

from mlax_scaffold.cli import options


@click.command(epilog="Example: mlax-scaffold new-function leaky_tanh")
@click.argument("name")
@click.option(
    "--like",
    metavar="EXISTING",
    shell_complete=options.complete_names,
    help="Start from a copy of the spec of this function.",
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
    """Create a function: its spec, code, tests and docs.

    The spec starts from a small working function, or from a copy of
    an existing one. All that follows from it is generated, tried out in a copy, and
    written together; where something fails, nothing is.
    """
    from mlax_scaffold.cli.creation import Creation, Request
    from mlax_scaffold.cli.workspace import Workspace
    from mlax_scaffold.model.definition import Kind

    request = Request(
        "new-function",
        Kind.FUNCTION,
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
