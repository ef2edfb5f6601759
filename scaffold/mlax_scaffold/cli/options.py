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


no_trial = click.option(
    "--no-trial",
    is_flag=True,
    help="Do not import what changed before it is written.",
)


def _patience(ctx: click.Context, parameter: click.Parameter, value: float) -> float:
    if not value >= 0.0:
        raise click.BadParameter(f"{value:g} is no number of seconds, such as 0 or 60")
    return value


wait = click.option(
    "--wait",
    "patience",
    type=float,
    default=600.0,
    callback=_patience,
    metavar="SECONDS",
    help="How long to wait for another run to end; default: 600.",
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
    """The names of definitions that begin so: the project's, and those it can build on."""
    return _names(ctx, incomplete, built_in=True)


def complete_own_names(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """The names of the project's own definitions that begin so."""
    return _names(ctx, incomplete, built_in=False)


def complete_library_names(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """The names of the library's definitions that begin so."""
    from mlax_scaffold.project.workspace import BUILT_IN, names_in
    from mlax_scaffold.reader.files import library_specs

    names = names_in(library_specs(BUILT_IN))
    return [name for name in names if name.startswith(incomplete)]


def _names(ctx: click.Context, incomplete: str, *, built_in: bool) -> list[str]:
    from mlax_scaffold.errors import MlaxScaffoldError
    from mlax_scaffold.project.workspace import Workspace, names_in

    try:
        workspace = Workspace.find(ctx.params.get("directory"))
        names = names_in((*workspace.own, *(workspace.built_in if built_in else ())))
    except MlaxScaffoldError:
        return []
    return [name for name in names if name.startswith(incomplete)]
