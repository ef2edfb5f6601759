"""What `rename`, `move` and `remove` share: their options, and what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.options import Function

if TYPE_CHECKING:
    from mlax_scaffold.project.refactoring import Refactoring
    from mlax_scaffold.project.workspace import Workspace

_SHOWN = 20


def refactoring(command: Function) -> Function:
    """The options of a command that changes where or whether a definition is."""
    for decorator in (
        options.output_format("json"),
        options.quiet,
        options.no_trial,
        options.wait,
        options.force,
        click.option("--dry-run", is_flag=True, help="Show the diff; change nothing."),
        options.project,
    ):
        command = decorator(command)
    return command


def carry_out(
    make: Callable[[Workspace], Refactoring],
    *,
    directory: str | None,
    dry_run: bool,
    force: bool,
    patience: float,
    no_trial: bool,
    quiet: bool,
    style: str,
) -> None:
    """Do what was asked for, or show what that would change."""
    from mlax_scaffold.cli.changes import Consent, exclusive, warn_about
    from mlax_scaffold.project.trial import try_out
    from mlax_scaffold.project.verdicts import refuse_interrupted
    from mlax_scaffold.project.workspace import Workspace
    from mlax_scaffold.write import commit

    workspace = Workspace.find(directory)
    if dry_run:
        refuse_interrupted(workspace.root)
        _preview(make(workspace), force=force, quiet=quiet, style=style)
        return
    with exclusive(workspace.root, patience):
        found = make(workspace)
        Consent(force).check(found.plan)
        if not no_trial:
            try_out(found.workspace, found.made, found.plan)
        report = commit(workspace.root, found.plan, title=found.title, force=force)
    if style == "json":
        content: dict[str, Any] = {**asdict(report), **_left(found)}
        click.echo(json.dumps(content, indent=2))
    elif not quiet:
        _tell(found, "Done")
        click.echo("`mlax-scaffold undo` takes this back.")
    warn_about(report, style)


def _preview(found: Refactoring, *, force: bool, quiet: bool, style: str) -> None:
    from mlax_scaffold.cli.changes import Consent, coloured
    from mlax_scaffold.cli.failures import FINDINGS
    from mlax_scaffold.errors import ConflictError
    from mlax_scaffold.write import diff

    plan = found.plan
    mine = tuple(c for c in plan.changes if c.path in found.edited)
    if style == "json":
        content = {
            "created": plan.created,
            "updated": plan.updated,
            "deleted": plan.deleted,
            "conflicts": [status.path for status in plan.conflicts],
            "diff": diff(plan, found.moved),
            "moved": dict(found.moved),
            **_left(found),
        }
        click.echo(json.dumps(content, indent=2))
    elif not quiet:
        click.echo(coloured(diff(replace(plan, changes=mine), found.moved)))
        _tell(found, "Would be")
    try:
        Consent(force).check(plan)
    except ConflictError:
        if style != "json":
            raise
        click.get_current_context().exit(FINDINGS)


def _left(found: Refactoring) -> dict[str, object]:
    return {"mentioned": [str(mention) for mention in found.mentioned]}


def _tell(found: Refactoring, done: str) -> None:
    from mlax_scaffold.cli.console import changed_lines, counts
    from mlax_scaffold.project.progress import plural

    plan = found.plan
    kinds = (plan.created, plan.updated, plan.deleted)
    both = {*found.moved, *found.moved.values()}
    mine = [
        [path for path in kind if path in found.edited and path not in both]
        for kind in kinds
    ]
    for old, new in found.moved.items():
        click.echo(f"  {click.style('renamed', fg='yellow')}  {old} -> {new}")
    for line in changed_lines(*mine):
        click.echo(line)
    click.echo(f"{done}: {counts(*kinds)}, with all that is generated.")
    if found.mentioned:
        number = plural(len(found.mentioned), "line")
        click.echo(f"\nText in {number} has the name, and stays:")
        for mention in found.mentioned[:_SHOWN]:
            click.echo(f"  {mention}")
        if len(found.mentioned) > _SHOWN:
            click.echo(f"  and {len(found.mentioned) - _SHOWN} more")
