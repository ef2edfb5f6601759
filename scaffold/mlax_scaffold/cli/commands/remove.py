"""`mlax-scaffold remove`."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.refactor import carry_out, refactoring


@click.command(epilog="Example: mlax-scaffold remove Gate --dry-run")
@click.argument("name", shell_complete=options.complete_own_names)
@refactoring
def command(name: str, force: bool, **given: Any) -> None:
    """Remove a definition: its spec and all that follows from it.

    One that other specs build on is not removed, nor one that Python files of the project
    use: each place is named. With --force, only specs are in the way.
    """
    from mlax_scaffold.project.refactoring import remove

    carry_out(
        lambda workspace: remove(workspace, name, force=force), force=force, **given
    )
