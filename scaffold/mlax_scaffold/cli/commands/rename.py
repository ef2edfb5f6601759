"""`mlax-scaffold rename`."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.refactor import carry_out, refactoring


@click.command(epilog="Example: mlax-scaffold rename Gate SoftGate --dry-run")
@click.argument("name", shell_complete=options.complete_own_names)
@click.argument("new", metavar="NEW")
@refactoring
def command(name: str, new: str, **given: Any) -> None:
    """Give a definition another name, wherever it is used.

    Its spec, code, tests and pages, the specs that build on it, and the imports and uses
    in Python files of the project change in one step, by what names stand for. Text, such
    as comments and prose, stays, and is listed.
    """
    from mlax_scaffold.project.refactoring import rename

    carry_out(lambda workspace: rename(workspace, name, new), **given)
