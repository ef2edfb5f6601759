"""`mlax-scaffold absorb`."""

from __future__ import annotations

import click

from mlax_scaffold.cli import options


@click.command(epilog="Example: mlax-scaffold absorb GatedLinear --dry-run")
@click.argument("name", shell_complete=options.complete_own_names)
@options.project
@click.option("--dry-run", is_flag=True, help="Show the diff; change nothing.")
@click.option(
    "--anyway",
    is_flag=True,
    help="Take the closest spec, also where other code follows from it.",
)
@options.wait
@options.no_trial
@options.quiet
def command(
    name: str,
    directory: str | None,
    dry_run: bool,
    anyway: bool,
    patience: float,
    no_trial: bool,
    quiet: bool,
) -> None:
    """Take an edit of generated code back into the spec that it follows from.

    What you changed in the module of NAME is changed in its spec, and all that follows from it
    is generated anew: the module is then what you made of it, and `check` is clean. Where no
    such spec can be found it is said why, and nothing is changed.
    """
    from dataclasses import replace

    from mlax_scaffold.cli.changes import coloured, exclusive, warn_about
    from mlax_scaffold.cli.console import changed_lines
    from mlax_scaffold.project.absorbing import absorb
    from mlax_scaffold.project.trial import try_out
    from mlax_scaffold.project.verdicts import refuse_interrupted
    from mlax_scaffold.project.workspace import Workspace
    from mlax_scaffold.write import commit, diff

    workspace = Workspace.find(directory)
    if dry_run:
        refuse_interrupted(workspace.root)
        found = absorb(workspace, name, anyway=anyway)
        spec = [c for c in found.plan.changes if c.path == found.spec]
        click.echo(coloured(diff(replace(found.plan, changes=tuple(spec)))), nl=False)
        return
    with exclusive(workspace.root, patience):
        found = absorb(workspace, name, anyway=anyway)
        found.plan.check_orphans()
        found.plan.check_conflicts()
        if not no_trial:
            try_out(found.workspace, found.made, found.plan)
        report = commit(workspace.root, found.plan, title=found.title)
    if not quiet:
        for line in changed_lines(report.created, report.updated, report.deleted):
            click.echo(line)
        click.echo("`mlax-scaffold undo` takes this back.")
    warn_about(report)
