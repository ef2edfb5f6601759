"""`mlax-scaffold history`."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import click

from mlax_scaffold.cli import options


@click.command(epilog="Example: mlax-scaffold history --format json")
@options.project
@options.output_format("json")
def command(directory: str | None, style: str) -> None:
    """List the last changes, which undo takes back one after another.

    The newest comes first, with the files that were changed since, over which undo
    refuses to go. The last ten changes are kept.
    """
    from mlax_scaffold.cli.console import counts
    from mlax_scaffold.project.settings import find_changed
    from mlax_scaffold.project.verdicts import refuse_interrupted
    from mlax_scaffold.write import history, plan_undo

    root = find_changed(directory)
    refuse_interrupted(root)
    changes = history(root)
    since = plan_undo(root)[1].conflicts if changes else ()
    if style == "json":
        content = {
            "changes": [{**asdict(c), "at": _utc(c.at)} for c in changes],
            "changed_since": [{"path": s.path, "detail": s.detail} for s in since],
        }
        click.echo(json.dumps(content, indent=2))
        return
    if not changes:
        click.echo("Nothing was changed yet, or everything has been undone.")
    for change in changes:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(change.at))
        files = counts(change.created, change.updated, change.deleted)
        click.echo(f"{when}  {click.style(change.title, bold=True)}: {files}")
        if change is changes[0]:
            for status in since:
                detail = click.style(status.detail, fg="yellow")
                click.echo(f"    {status.path}: {detail}")


def _utc(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
