"""`mlax-scaffold move`."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.refactor import carry_out, refactoring


@click.command(epilog="Example: mlax-scaffold move Encoder block --dry-run")
@click.argument("name", shell_complete=options.complete_own_names)
@click.argument("to", metavar="SECTION|FILE")
@refactoring
def command(name: str, to: str, **given: Any) -> None:
    """Move a definition to another section, or its spec to another file.

    A layer may be in nn or in block. What uses it, in specs and in Python files of the
    project, imports it from there afterwards.
    """
    from mlax_scaffold.project.refactoring import move

    carry_out(lambda workspace: move(workspace, name, to), **given)
