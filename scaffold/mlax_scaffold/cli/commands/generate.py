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
@options.quiet
@options.output_format("json", "github")
def command(
    directory: str | None,
    dry_run: bool,
    show_diff: bool,
    force: bool,
    prune: bool,
    quiet: bool,
    style: str,
) -> None:
    """Bring everything generated up to date with the specs.

    Code, tests and reference pages are rendered from the specs and written in one step:
    all of them, or none. A file that was edited by hand is not overwritten, and what
    followed from a spec that is gone is not deleted, unless you say so.
    """
    from mlax_scaffold.cli.changes import Consent, apply, preview
    from mlax_scaffold.cli.workspace import Workspace
    from mlax_scaffold.write import mutex

    workspace = Workspace.find(directory)

    consent = Consent(force, prune)

    def plan():
        return workspace.plan(workspace.generate())

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
            empty="There are no specs yet. Create one: mlax-scaffold new-layer NAME",
        )
