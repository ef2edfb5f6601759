"""`mlax-scaffold check`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.failures import FINDINGS

if TYPE_CHECKING:
    from mlax_scaffold.project.verdicts import Verdicts
    from mlax_scaffold.write import FileStatus

_ADVICE = {
    "stale spec": "run `mlax-scaffold generate`",
    "stale generator": "run `mlax-scaffold generate`",
    "missing": "run `mlax-scaffold generate`",
    "orphan": "bring its spec back, or delete it with `mlax-scaffold generate --prune`",
    "edited by hand": "take the edit into the spec with `mlax-scaffold absorb NAME`, or "
    "discard it with `mlax-scaffold generate --force`",
    "not generated": "move the file away, then run `mlax-scaffold generate`",
    "not read": "move it to where specs are read from, or away",
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
not read         a spec that stands where none is read
"""


@click.command(
    help=_HELP,
    epilog="Example, in CI: mlax-scaffold check --render --format github. "
    "Exit status: 0 all is clean; 1 some file is not, or a spec is invalid; 3 a fault.",
)
@options.project
@click.option(
    "--render",
    "always_render",
    is_flag=True,
    help="Render everything and compare, also where the record says all is clean.",
)
@options.wait
@options.quiet
@options.output_format("json", "github")
@click.pass_context
def command(
    ctx: click.Context,
    directory: str | None,
    always_render: bool,
    patience: float,
    quiet: bool,
    style: str,
) -> None:
    """Say which generated files do not follow from their specs."""
    from mlax_scaffold.cli.failures import as_dict
    from mlax_scaffold.errors import ConflictError, SpecError
    from mlax_scaffold.project.verdicts import look
    from mlax_scaffold.write import LOCK_NAME

    try:
        found = look(directory, always_render=always_render, wait_seconds=patience)
    except (SpecError, ConflictError) as error:
        if style != "json":
            raise
        each = [as_dict(d) for d in getattr(error, "diagnostics", ())]
        click.echo(_document(errors=each or [{"message": str(error)}]))
        ctx.exit(FINDINGS)
    match style:
        case "json":
            click.echo(_document(found))
        case "github":
            _mark(found)
        case _:
            _tell(found, quiet=quiet)
    if found.clean and found.outdated:
        click.echo(
            f"{LOCK_NAME} was written by another version of the generator, with the "
            "same result; `mlax-scaffold generate` makes this check quick again",
            err=True,
        )
    if not found.clean:
        ctx.exit(FINDINGS)


def _document(
    found: Verdicts | None = None, errors: Iterable[dict[str, object]] = ()
) -> str:
    """What `docs/check.schema.json` describes."""
    files = [
        {
            "path": status.path,
            "verdict": status.verdict.value,
            "source": status.source,
            "detail": status.detail,
            "advice": _ADVICE.get(status.verdict.value, ""),
        }
        for status in (found.statuses if found else ())
    ]
    content = {
        "clean": found is not None and found.clean,
        "files": files,
        "record": found.record if found else "",
        "errors": list(errors),
    }
    return json.dumps(content, indent=2)


def _mark(found: Verdicts) -> None:
    """Print what GitHub shows beside the files."""
    from mlax_scaffold.cli.failures import github
    from mlax_scaffold.write import LOCK_NAME

    for status in found.findings:
        text = f"{status.verdict.value}{_detail(status)}: "
        click.echo(github(text + _ADVICE[status.verdict.value], status.path))
    if found.record:
        click.echo(github(f"{found.record}: run `mlax-scaffold generate`", LOCK_NAME))


def _tell(found: Verdicts, *, quiet: bool) -> None:
    """Print the findings, and what to do about each kind of them."""
    from mlax_scaffold.write import LOCK_NAME

    for status in found.findings:
        verdict = click.style(status.verdict.value, fg="red")
        click.echo(f"{status.path}: {verdict}{_detail(status)}")
    if found.record:
        click.echo(f"{LOCK_NAME}: {found.record}")
    if not found.clean:
        verdicts = [status.verdict.value for status in found.findings]
        click.echo("\n" + _summary(verdicts, len(found.statuses)))
    elif not quiet:
        click.echo(f"{len(found.statuses)} files, all clean.")


def _detail(status: FileStatus) -> str:
    return f" ({status.detail})" if status.detail else ""


def _summary(verdicts: list[str], number: int) -> str:
    if not verdicts:
        return "The record is not up to date: run `mlax-scaffold generate`."
    are = "is" if len(verdicts) == 1 else "are"
    lines = [f"{len(verdicts)} of {number} files {are} not clean."]
    for verdict, advice in _ADVICE.items():
        count = verdicts.count(verdict)
        if count:
            lines.append(f"  {count} {verdict}: {advice}")
    return "\n".join(lines)
