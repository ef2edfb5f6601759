"""`mlax-scaffold check`."""

from __future__ import annotations

import json

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.failures import FINDINGS

_ADVICE = {
    "stale spec": "run `mlax-scaffold generate`",
    "stale generator": "run `mlax-scaffold generate`",
    "missing": "run `mlax-scaffold generate`",
    "orphan": "bring its spec back, or delete it with `mlax-scaffold generate --prune`",
    "edited by hand": "move the edit into the spec, or discard it with "
    "`mlax-scaffold generate --force`",
    "not generated": "move the file away, then run `mlax-scaffold generate`",
}


_HELP = """Say which generated files do not follow from their specs. Writes nothing.

\b
clean            as generated
stale spec       its spec has changed since
stale generator  the generator or a template has changed since
edited by hand   somebody changed the file
missing          not there
orphan           its spec is gone
not generated    somebody else's file is in its place
"""


@click.command(
    help=_HELP,
    epilog="Example, in CI: mlax-scaffold check --render --format github. "
    "Exit status: 0 all is clean; 1 some file is not, or a spec is invalid.",
)
@options.project
@click.option(
    "--render",
    "always_render",
    is_flag=True,
    help="Render everything and compare, also where the record says all is clean.",
)
@options.quiet
@options.output_format("json", "github")
@click.pass_context
def command(
    ctx: click.Context,
    directory: str | None,
    always_render: bool,
    quiet: bool,
    style: str,
) -> None:
    """Say which generated files do not follow from their specs."""
    from mlax_scaffold.cli.changes import refuse_interrupted
    from mlax_scaffold.cli.failures import github
    from mlax_scaffold.cli.workspace import Workspace
    from mlax_scaffold.write import LOCK_NAME, Verdict

    workspace = Workspace.find(directory)
    refuse_interrupted(workspace.root)
    statuses = workspace.examine(always_render=always_render)
    found = [s for s in statuses if s.verdict is not Verdict.CLEAN]
    record = workspace.record_problem()
    clean = not found and not record

    if style == "json":
        files = [
            {
                "path": s.path,
                "verdict": s.verdict.value,
                "source": s.source,
                "detail": s.detail,
            }
            for s in statuses
        ]
        content = {"clean": clean, "files": files, "record": record}
        click.echo(json.dumps(content, indent=2))
    elif style == "github":
        for status in found:
            advice = _ADVICE[status.verdict.value]
            detail = f" ({status.detail})" if status.detail else ""
            click.echo(github(f"{status.verdict.value}{detail}: {advice}", status.path))
        if record:
            click.echo(github(f"{record}: run `mlax-scaffold generate`", LOCK_NAME))
    else:
        for status in found:
            verdict = click.style(status.verdict.value, fg="red")
            detail = f" ({status.detail})" if status.detail else ""
            click.echo(f"{status.path}: {verdict}{detail}")
        if record:
            click.echo(f"{LOCK_NAME}: {record}")
        if not clean:
            click.echo("\n" + _summary([s.verdict.value for s in found], len(statuses)))
        elif not quiet:
            click.echo(f"{len(statuses)} files, all clean.")
    if clean and workspace.lock.fingerprint != workspace.fingerprint and workspace.own:
        click.echo(
            f"{LOCK_NAME} was written by another version of the generator, with the "
            "same result; `mlax-scaffold generate` makes this check quick again",
            err=True,
        )
    if not clean:
        ctx.exit(FINDINGS)


def _summary(verdicts: list[str], number: int) -> str:
    if not verdicts:
        return "The record is not up to date: run `mlax-scaffold generate`."
    lines = [f"{len(verdicts)} of {number} files are not clean."]
    for verdict, advice in _ADVICE.items():
        count = verdicts.count(verdict)
        if count:
            lines.append(f"  {count} {verdict}: {advice}")
    return "\n".join(lines)
