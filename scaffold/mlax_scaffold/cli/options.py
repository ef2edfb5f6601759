"""Options and arguments that commands share, and what completes them in a shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from mlax_scaffold.cli.failures import FORMAT

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]


def _remember_format(ctx: click.Context, _: click.Parameter, value: str) -> str:
    # A failure is reported in the format that was asked for.
    ctx.meta[FORMAT] = value
    return value


project = click.option(
    "--project",
    "directory",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="Project to work on; default: that of the current folder.",
)
quiet = click.option(
    "-q", "--quiet", is_flag=True, help="Print findings and errors only."
)
dry_run = click.option(
    "--dry-run", is_flag=True, help="Say what would change; change nothing."
)
show_diff = click.option(
    "--diff", "show_diff", is_flag=True, help="Print the change; change nothing."
)
force = click.option(
    "--force",
    is_flag=True,
    help="Overwrite files that were edited by hand; undo brings them back.",
)

prune = click.option(
    "--prune",
    is_flag=True,
    help="Delete files whose spec is gone, without asking; undo brings them back.",
)


def output_format(*choices: str) -> Decorator:
    """`--format`, with "text" and these choices."""
    return click.option(
        "--format",
        "style",
        type=click.Choice(["text", *choices]),
        default="text",
        callback=_remember_format,
        is_eager=True,
        help="Form of the output.",
    )


def complete_names(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """The names of the project's definitions that begin so."""
    from mlax_scaffold.cli.workspace import Workspace, names_in
    from mlax_scaffold.errors import MlaxScaffoldError

    try:
        workspace = Workspace.find(ctx.params.get("directory"))
        names = names_in((*workspace.own, *workspace.built_in))
    except MlaxScaffoldError:
        return []
    return [name for name in names if name.startswith(incomplete)]
