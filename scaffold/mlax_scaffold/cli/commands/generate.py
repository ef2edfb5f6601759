"""`mlax-scaffold generate`."""

from __future__ import annotations

import click

from mlax_scaffold.cli import options

MOST_TRIALS = 8
"""How often what a trial finds is mended, and tried again."""


@click.command(
    epilog="Example: mlax-scaffold generate --diff shows what an edit of a spec does."
)
@options.project
@options.dry_run
@options.show_diff
@options.force
@options.prune
@options.no_trial
@click.option(
    "--fix",
    is_flag=True,
    help="Mend the specs where the remedy is one edit; undo brings them back.",
)
@click.option(
    "--impact",
    "show_impact",
    is_flag=True,
    help="Say what would change for users: signatures, states, seeds, numbers; change nothing.",
)
@click.option(
    "--since",
    metavar="REV",
    help="With --impact: compare with a revision of git, not with the files as they are.",
)
@options.wait
@options.quiet
@options.output_format("json", "github")
def command(
    directory: str | None,
    dry_run: bool,
    show_diff: bool,
    force: bool,
    prune: bool,
    no_trial: bool,
    fix: bool,
    show_impact: bool,
    since: str | None,
    patience: float,
    quiet: bool,
    style: str,
) -> None:
    """Bring everything generated up to date with the specs.

    Code, tests and reference pages are rendered from the specs and written in one step:
    all of them, or none. A file that was edited by hand is not overwritten, and what
    followed from a spec that is gone is not deleted, unless you say so. Where code changes,
    the package is imported from a copy first, and nothing is written that cannot be.

    Where a finding has one remedy, its edit is shown; --fix makes these edits in the specs,
    each of which is valid then, or stays as it is.

    --impact tells each change once, however many files it is made in, and whether calls,
    checkpoints, seeds and numbers stay as they are; --impact --since v1.0 for a release.
    """
    if since is not None and not show_impact:
        raise click.UsageError("--since goes with --impact")
    if show_impact:
        from mlax_scaffold.cli.impact import tell
        from mlax_scaffold.project.impact import impact
        from mlax_scaffold.project.workspace import Workspace

        tell(impact(Workspace.find(directory), since or ""), style)
        return
    from mlax_scaffold.cli.changes import (
        Consent,
        apply,
        exclusive,
        preview,
        show_edits,
        warn_unread,
    )
    from mlax_scaffold.errors import SpecError
    from mlax_scaffold.project.fixing import (
        after_trial,
        edits_of,
        fixed,
        left_by_trial,
    )
    from mlax_scaffold.project.trial import try_out
    from mlax_scaffold.project.workspace import Generation, Workspace
    from mlax_scaffold.write import Plan

    # The project as it is, or with what fixes make of its specs.
    workspaces = [Workspace.find(directory)]
    root = workspaces[0].root
    consent = Consent(force, prune)
    made: list[Generation] = []

    def show() -> None:
        """Show how the specs are mended."""
        if fix:
            show_edits(edits_of(workspaces[-1]), style, quiet=quiet)

    def plan() -> Plan:
        if fix and not made:
            workspaces.append(fixed(workspaces[-1], write=not (dry_run or show_diff)))
        made.append(workspaces[-1].generate())
        return workspaces[-1].plan(made[-1])

    def trial(plan: Plan) -> None:
        if not no_trial:
            try_out(workspaces[-1], made[-1], plan)
        show()

    def after(error: SpecError) -> bool:
        """Whether what a trial found is mended, and worth another one."""
        if not fix or len(made) > MOST_TRIALS:
            return False
        workspace = after_trial(workspaces[-1], error)
        if workspace is None:
            return False
        workspaces.append(workspace)
        return True

    if dry_run or show_diff:
        preview(
            root,
            plan,
            show_diff=show_diff,
            consent=consent,
            quiet=quiet,
            style=style,
        )
        warn_unread(workspaces[-1])
        return
    with exclusive(root, patience):
        while True:
            try:
                apply(
                    root,
                    plan,
                    title="generate --fix" if fix else "generate",
                    consent=consent,
                    quiet=quiet,
                    style=style,
                    trial=trial if fix or not no_trial else None,
                    empty="There are no specs yet. Create one: "
                    "mlax-scaffold new-layer NAME",
                )
                break
            except SpecError as error:
                if made and after(error):
                    continue
                show()
                if not made or not fix:
                    raise
                raise left_by_trial(workspaces[-1], error) from None
    warn_unread(workspaces[-1])
