"""`mlax-scaffold generate`."""

from __future__ import annotations

import click

from mlax_scaffold.cli import options


@click.command(
    epilog="Example: mlax-scaffold generate --diff shows what an edit of a spec does."
)
@options.project
@options.dry_run
@options.show_diff
@options.force
@options.prune
@click.option(
    "--no-trial",
    is_flag=True,
    help="Do not import what changed before it is written.",
)
@options.quiet
@options.output_format("json", "github")
def command(
    directory: str | None,
    dry_run: bool,
    show_diff: bool,
    force: bool,
    prune: bool,
    no_trial: bool,
    quiet: bool,
    style: str,
) -> None:
    """Bring everything generated up to date with the specs.

    Code, tests and reference pages are rendered from the specs and written in one step:
    all of them, or none. A file that was edited by hand is not overwritten, and what
    followed from a spec that is gone is not deleted, unless you say so. Where code changes,
    the package is imported from a copy first, and nothing is written that cannot be.
    """
    from mlax_scaffold.cli.changes import Consent, apply, preview
    from mlax_scaffold.cli.trial import try_out
    from mlax_scaffold.cli.workspace import Generation, Workspace
    from mlax_scaffold.write import Plan, mutex

    workspace = Workspace.find(directory)

    consent = Consent(force, prune)

    made: list[Generation] = []

    def plan() -> Plan:
        made.append(workspace.generate())
        return workspace.plan(made[-1])

    def trial(plan: Plan) -> None:
        try_out(workspace, made[-1], plan)

    if dry_run or show_diff:
        preview(
            workspace.root,
            plan,
            show_diff=show_diff,
            consent=consent,
            quiet=quiet,
            style=style,
        )
        return
    with mutex(workspace.root):
        apply(
            workspace.root,
            plan,
            title="generate",
            consent=consent,
            quiet=quiet,
            style=style,
            trial=None if no_trial else trial,
            empty="There are no specs yet. Create one: mlax-scaffold new-layer NAME",
        )
