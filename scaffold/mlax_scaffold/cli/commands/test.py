"""`mlax-scaffold test`."""

from __future__ import annotations

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.failures import FAULT, FINDINGS


@click.command(epilog="Example: mlax-scaffold test Linear Conv")
@click.argument(
    "names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete_names
)
@options.project
@options.quiet
@click.pass_context
def command(
    ctx: click.Context, names: tuple[str, ...], directory: str | None, quiet: bool
) -> None:
    """Run generated tests, all or those of some definitions.

    Runs pytest, with the project's settings, on the files that were generated last.
    Exit status: 0 all passed; 1 some failed; 3 they could not be run.
    """
    from mlax_scaffold.project.running import files_of, missing_packages, run_tests
    from mlax_scaffold.project.workspace import Workspace

    workspace = Workspace.find(directory)
    missing = missing_packages()
    if missing:
        raise click.UsageError(
            f'the tests need {" and ".join(missing)}: pip install "mlax-scaffold[test]"'
        )
    status = run_tests(workspace, files_of(workspace, names), quiet=quiet)
    # pytest's 2 is an interruption, such as by a file that cannot be imported.
    if status in (1, 2):
        ctx.exit(FINDINGS)
    if status != 0:
        click.echo(f"pytest ended with status {status}.", err=True)
        ctx.exit(FAULT)
