"""What the commands that create a definition share: their options, and what they do."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.options import Decorator, Function


def creating(noun: str) -> Decorator:
    """The argument and the options of a command that creates such a thing."""

    def decorate(command: Function) -> Function:
        for decorator in (
            options.output_format("json"),
            options.quiet,
            options.show_diff,
            options.dry_run,
            options.project,
            click.option(
                "--no-test", is_flag=True, help="Do not run its tests, only import it."
            ),
            click.option(
                "--like",
                metavar="EXISTING",
                shell_complete=options.complete_names,
                help=f"Start from a copy of the spec of this {noun}.",
            ),
        ):
            command = decorator(command)
        return command

    return decorate


def create(
    command: str,
    kind: str,
    name: str,
    *,
    directory: str | None,
    dry_run: bool,
    show_diff: bool,
    no_test: bool,
    **settings: Any,
) -> None:
    """Create the definition, or say what that would change."""
    from mlax_scaffold.cli.creation import Creation, Request
    from mlax_scaffold.cli.workspace import Workspace
    from mlax_scaffold.model.definition import Kind

    request = Request(command, Kind[kind], name, test=not no_test, **settings)
    creation = Creation(Workspace.find(directory), request)
    if dry_run or show_diff:
        creation.preview(show_diff=show_diff)
    else:
        creation.run()
