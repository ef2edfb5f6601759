"""What `add` and `update` share: their options, and what they say."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.options import Function

if TYPE_CHECKING:
    from mlax_scaffold.owning.operations import Update
    from mlax_scaffold.owning.record import Record


def owning(command: Function) -> Function:
    """The options of a command that merges source into a project."""
    sides = (
        click.option(
            "--edit",
            is_flag=True,
            help="Settle contradictions in an editor ($EDITOR), one file after another.",
        ),
        click.option(
            "--theirs", is_flag=True, help="Take the new lines where both changed them."
        ),
        click.option(
            "--ours", is_flag=True, help="Take your lines where both changed them."
        ),
    )
    for decorator in (
        options.output_format("json"),
        options.quiet,
        options.no_trial,
        options.wait,
        *sides,
        options.show_diff,
        options.dry_run,
    ):
        command = decorator(command)
    return command


def carry_out(
    found: Sequence[tuple[Record, Record | None]],
    title: str,
    *,
    ours: bool,
    theirs: bool,
    edit: bool,
    dry_run: bool,
    show_diff: bool,
    patience: float,
    no_trial: bool,
    quiet: bool,
    style: str,
) -> None:
    """Bring each place to what its record asks for, or show what that would change."""
    from mlax_scaffold.cli.changes import coloured, exclusive, warn_about
    from mlax_scaffold.errors import UsageError
    from mlax_scaffold.owning.merging import Side
    from mlax_scaffold.owning.operations import Merger, check_decided, whole_plans
    from mlax_scaffold.write import commit, diff

    if ours + theirs + edit > 1:
        raise UsageError("--ours, --theirs and --edit exclude each other: pass one")
    side = Side.OURS if ours else Side.THEIRS if theirs else Side.NEITHER
    editor = _editor if edit and not (dry_run or show_diff) else None
    mergers = [Merger(*each, side, editor, not no_trial) for each in found]
    if dry_run or show_diff:
        updates = [merger.update() for merger in mergers]
        for update in updates:
            if show_diff:
                click.echo(coloured(diff(update.plan)), nl=False)
            else:
                _tell(update, "Would be", quiet=quiet, style=style)
        check_decided(updates)
        return
    reports = []
    with ExitStack() as stack:
        for root in sorted({record.place.root for record, _ in found}):
            stack.enter_context(exclusive(root, patience))
        updates = [merger.update() for merger in mergers]
        check_decided(updates)
        for root, plan in whole_plans(updates).items():
            reports.append(commit(root, plan, title=title))
    for update in updates:
        _tell(update, "Done", quiet=quiet, style=style)
    for report in reports:
        warn_about(report, style)


def _editor(path: str, text: str) -> str | None:
    """The text as somebody settles it in an editor; None: not settled, and not tried again."""
    from mlax_scaffold.errors import UsageError
    from mlax_scaffold.owning.operations import unsettled
    from mlax_scaffold.render.scratch import fill, scratch

    name = os.path.basename(path)
    with scratch() as folder:
        place = os.path.join(folder, name)
        while True:
            click.echo(f"Settle {path}: leave no marker lines, and save.", err=True)
            fill(folder, {name: text})
            try:
                click.edit(filename=place)
                with open(place, encoding="utf-8") as file:
                    edited = file.read().replace("\r\n", "\n")
            except (click.ClickException, OSError, UnicodeDecodeError) as error:
                told = getattr(error, "message", error)
                raise UsageError(
                    f"{path} could not be edited: {told}. Name an editor that runs here in "
                    "EDITOR, or pass --ours or --theirs. Nothing was changed."
                ) from error
            why = unsettled(path, edited)
            if not why:
                return edited
            click.echo(f"{path} is not settled: {why}.", err=True)
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                return None
            if not click.confirm("Edit it again?", default=True, err=True):
                return None
            text = edited if edited.strip() else text


def _tell(update: Update, word: str, *, quiet: bool, style: str) -> None:
    from mlax_scaffold.cli.console import changed_lines, counts
    from mlax_scaffold.owning.record import FOLDER

    place = update.record.place
    home = place.path(FOLDER) + "/"

    def shown(paths: tuple[str, ...]) -> list[str]:
        return [path for path in paths if not path.startswith(home)]

    plan = update.plan
    kinds = [shown(paths) for paths in (plan.created, plan.updated, plan.deleted)]
    if style == "json":
        content = {
            "into": place.folder,
            "package": place.package,
            **dict(zip(("created", "updated", "deleted"), kinds, strict=True)),
            "merged": update.merged,
            "kept": update.kept,
            "gone": update.gone,
            "conflicts": [asdict(c) for c in update.conflicts],
        }
        click.echo(json.dumps(content, indent=2))
        return
    if quiet:
        return
    for line in changed_lines(*kinds):
        click.echo(line)
    _list("Merged with your changes", update.merged)
    _list("No longer needed, and left because you changed it", update.kept)
    _list("Deleted by you, and left so", update.gone)
    if any(kinds):
        click.echo(
            f"{word}: {counts(plan.created, plan.updated, plan.deleted)}, in {place.folder}."
        )
    else:
        click.echo(f"{place.folder} is up to date.")


def _list(title: str, paths: tuple[str, ...]) -> None:
    for path in paths:
        click.echo(f"{title}: {path}")
