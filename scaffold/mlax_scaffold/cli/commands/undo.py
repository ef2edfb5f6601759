"""`mlax-scaffold undo`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from mlax_scaffold.cli import options


@click.command(epilog="Example: mlax-scaffold undo --dry-run says what it would undo.")
@options.project
@options.dry_run
@options.show_diff
@options.force
@options.wait
@options.quiet
@options.output_format("json")
def command(
    directory: str | None,
    dry_run: bool,
    show_diff: bool,
    force: bool,
    patience: float,
    quiet: bool,
    style: str,
) -> None:
    """Take the last change back.

    Brings back every file that the last command created, updated or deleted, all of
    them or none. Where one was edited since, nothing is undone without --force. The
    last ten changes are kept.
    """
    from mlax_scaffold.cli.changes import Consent, exclusive, preview, warn_about
    from mlax_scaffold.cli.console import changed_lines, counts
    from mlax_scaffold.project.settings import find_changed
    from mlax_scaffold.write import CommitReport, Plan, plan_undo, undo

    root = find_changed(directory)

    def made() -> Plan:
        title, plan = plan_undo(root)
        if style == "text" and not quiet and not show_diff:
            click.echo(f'To undo "{title}":')
        return plan

    if dry_run or show_diff:
        preview(
            root,
            made,
            show_diff=show_diff,
            consent=Consent(force=force),
            quiet=quiet,
            style=style,
        )
        return
    with exclusive(root, patience):
        report = undo(root, force=force)
    if style == "json":
        click.echo(json.dumps(asdict(report), indent=2))
    elif not quiet:
        for line in changed_lines(report.created, report.updated, report.deleted):
            click.echo(line)
        files = counts(report.created, report.updated, report.deleted)
        click.echo(f'Undid "{report.title}": {files}.')
        if report.remaining:
            click.echo(f'Next to be undone: "{report.remaining[0]}".')
    warn_about(CommitReport(overwritten=report.overwritten, kept=report.kept), style)
