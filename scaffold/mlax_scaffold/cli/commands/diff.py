"""`mlax-scaffold diff`."""

from __future__ import annotations

import click


@click.command(epilog="Example: mlax-scaffold diff src/mynet/layers")
@click.argument("into", required=False, type=click.Path(exists=True, file_okay=False))
def command(into: str | None) -> None:
    """Show what you changed in source that `add` brought, and what was changed since.

    INTO is a folder that `add` brought source into, or one above some; default: the current
    one. `mlax-scaffold update --diff` shows what comes of both.
    """
    from mlax_scaffold.cli.changes import coloured
    from mlax_scaffold.cli.version import version
    from mlax_scaffold.owning.operations import changes_of, records_below

    for record in records_below(into):
        mine, theirs = changes_of(record)
        click.echo(f"{record.place.folder}: what you changed")
        click.echo(coloured(mine) if mine else "Nothing.\n", nl=False)
        click.echo(
            f"\n{record.place.folder}: what mlax-scaffold changed from {record.version} "
            f"to {version()}"
        )
        click.echo(coloured(theirs) if theirs else "Nothing.\n", nl=False)
