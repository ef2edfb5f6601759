"""Carrying a plan out, or showing what it would do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass

import click

from mlax_scaffold.cli.console import changed_lines, counts
from mlax_scaffold.cli.failures import FINDINGS
from mlax_scaffold.errors import ConflictError
from mlax_scaffold.project.progress import plural, progress
from mlax_scaffold.project.verdicts import refuse_interrupted
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.write import (
    CommitReport,
    Plan,
    commit,
    diff,
    mutex,
    orphan_text,
    recover,
)


@contextmanager
def exclusive(root: str, patience: float) -> Iterator[None]:
    """Hold the project; where another run does, wait for it, with a bar on a terminal.

    Raises:
        ConflictError: it does not end within so many seconds.
    """

    def waiting(holder: str) -> AbstractContextManager[object]:
        name = f" ({holder})" if holder else ""
        return progress(f"Waiting for another mlax-scaffold{name}", patience)

    with mutex(root, wait_seconds=patience, waiting=waiting):
        tell_recovery(root)
        yield


@dataclass(frozen=True)
class Consent:
    """What of somebody's a command may overwrite or delete."""

    force: bool = False
    """Overwrite what was edited by hand."""
    prune: bool = False
    """Delete what followed from specs that are gone."""

    def check(self, plan: Plan) -> None:
        """Raises ConflictError for what a plan would do and there is no consent to."""
        if not self.prune:
            plan.check_orphans()
        if not self.force:
            plan.check_conflicts()


def preview(
    root: str,
    make: Callable[[], Plan],
    *,
    show_diff: bool = False,
    consent: Consent = Consent(),
    quiet: bool = False,
    style: str = "text",
) -> None:
    """Show what a plan would do. Writes nothing.

    Raises:
        ConflictError: carrying it out would be refused. As JSON that is part of the one
            document that is printed, and the program exits.
    """
    refuse_interrupted(root)
    plan = make()
    if style == "json":
        click.echo(json.dumps(_as_dict(plan, show_diff=show_diff), indent=2))
    elif show_diff:
        click.echo(coloured(diff(plan)), nl=False)
    elif not quiet:
        for line in changed_lines(plan.created, plan.updated, plan.deleted):
            click.echo(line)
        files = counts(plan.created, plan.updated, plan.deleted)
        click.echo(f"Would be: {files}, {len(plan.unchanged)} unchanged.")
    try:
        consent.check(plan)
    except ConflictError:
        if style != "json":
            raise
        click.get_current_context().exit(FINDINGS)


def apply(
    root: str,
    make: Callable[[], Plan],
    *,
    title: str,
    consent: Consent = Consent(),
    quiet: bool = False,
    style: str = "text",
    empty: str = "",
    trial: Callable[[Plan], None] | None = None,
) -> CommitReport:
    """Carry a plan out and say what changed. The caller holds the project.

    Where a person sits at a terminal, files of specs that are gone are deleted after a
    yes; elsewhere only with consent.

    Args:
        root: the project's root.
        make: makes the plan.
        title: names the change for `undo`.
        consent: to what may be overwritten or deleted.
        quiet: print nothing but what needs attention.
        style: "text" or "json".
        empty: what to say where there is nothing to generate.
        trial: tries a plan, and raises where it is not to be carried out.
    """
    plan = make()
    if empty and not plan.statuses and plan.lock.before is None:
        if style == "json":
            click.echo(json.dumps(asdict(CommitReport()) | {"unchanged": 0}, indent=2))
        elif not quiet:
            click.echo(empty)
        return CommitReport()
    prune = consent.prune or _agreed_to_prune(plan, style)
    if trial is not None:
        Consent(consent.force, prune).check(plan)
        trial(plan)
    report = commit(root, plan, title=title, force=consent.force, prune=prune)
    if style == "json":
        content = asdict(report) | {"unchanged": len(plan.unchanged)}
        click.echo(json.dumps(content, indent=2))
    elif not quiet:
        for line in changed_lines(report.created, report.updated, report.deleted):
            click.echo(line)
        if not (report.created or report.updated or report.deleted):
            click.echo(f"{plural(len(plan.unchanged), 'file')} up to date.")
        else:
            files = counts(report.created, report.updated, report.deleted)
            click.echo(f"{files}, {len(plan.unchanged)} unchanged.")
    warn_about(report, style)
    return report


def show_edits(plan: Plan, style: str, *, quiet: bool) -> None:
    """Show how specs are mended, before that is done."""
    if style == "text" and not quiet and plan.changes:
        click.echo(coloured(diff(plan)), nl=False)
        click.echo()


def _agreed_to_prune(plan: Plan, style: str) -> bool:
    """Ask for what would be refused; False where there is nobody to ask.

    Raises:
        ConflictError: the answer is no.
    """
    if not plan.orphans or style != "text":
        return False
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    click.echo(orphan_text(plan), err=True)
    if not click.confirm("Delete these files?", default=False, err=True):
        raise ConflictError(plan.orphan_advice)
    return True


def warn_about(report: CommitReport, style: str = "text") -> None:
    """Name the files that held somebody's work; as JSON the report has named them."""
    if style == "json":
        if report.kept:
            click.get_current_context().exit(FINDINGS)
        return
    if report.overwritten:
        click.echo(
            "These had been edited by hand; `mlax-scaffold undo` brings that back:\n"
            + "\n".join(f"  {path}" for path in report.overwritten)
        )
    if report.kept:
        raise ConflictError(
            "Left alone, because they were changed while mlax-scaffold was writing:\n"
            + "\n".join(f"  {path}" for path in report.kept)
        )


def tell_recovery(root: str) -> None:
    """Complete what an interrupted run had begun, and say so."""
    recovery = recover(root)
    if recovery is not None:
        click.echo(
            f'Completed "{recovery.title}", which had been interrupted.', err=True
        )


def warn_unread(workspace: Workspace) -> None:
    """Name what looks like a spec and stands where none is read."""
    for status in workspace.strays:
        warning = click.style("Warning", fg="yellow")
        click.echo(f"{warning}: {status.path} is not read: {status.detail}", err=True)


def _as_dict(plan: Plan, *, show_diff: bool) -> dict[str, object]:
    return {
        "created": plan.created,
        "updated": plan.updated,
        "deleted": plan.deleted,
        "conflicts": [status.path for status in plan.conflicts],
        "orphans": [status.path for status in plan.orphans],
        "unchanged": len(plan.unchanged),
        **({"diff": diff(plan)} if show_diff else {}),
    }


def coloured(text: str) -> str:
    """A diff, with its colours on a terminal."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return "".join(
        click.style(line, fg=colours[line[0]])
        if line[0] in colours and not line.startswith(("+++", "---"))
        else line
        for line in text.splitlines(keepends=True)
    )
