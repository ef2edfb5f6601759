"""What the commands that create a definition share: their options, and what they say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from mlax_scaffold.cli import FINDINGS, options
from mlax_scaffold.cli.options import Decorator, Function
from mlax_scaffold.errors import FindingsError

if TYPE_CHECKING:
    from mlax_scaffold.project.creation import Created, Creation
    from mlax_scaffold.project.workspace import Workspace


_CODE = {
    "layer": "class of layers",
    "function": "function over arrays",
    "optimizer": "transformation of gradients",
}
"""What each kind of definition can be made of."""


def creating(noun: str) -> Decorator:
    """The argument and the options of a command that creates such a thing."""

    def decorate(command: Function) -> Function:
        for decorator in (
            options.output_format("json"),
            options.quiet,
            options.show_diff,
            options.dry_run,
            options.wait,
            options.project,
            click.option(
                "--no-test", is_flag=True, help="Do not run its tests, only import it."
            ),
            click.option(
                "--from",
                "source",
                metavar="FILE:NAME",
                help=f"Start from code: a {_CODE[noun]} of a file, which is read, not run.",
            ),
            click.option(
                "--like",
                metavar="EXISTING",
                shell_complete=options.complete_names,
                help=f"Start from a copy of the spec of this {noun}.",
            ),
        ):
            command = decorator(command)
        return command

    return decorate


def create(
    command: str,
    kind: str,
    name: str,
    *,
    directory: str | None,
    dry_run: bool,
    show_diff: bool,
    patience: float,
    no_test: bool,
    quiet: bool,
    style: str,
    **settings: Any,
) -> None:
    """Create the definition, or say what that would change."""
    from mlax_scaffold.cli.changes import exclusive, preview, warn_about
    from mlax_scaffold.project.processes import warm
    from mlax_scaffold.project.workspace import Workspace

    if settings.get("source") is not None:
        for other in ("like", "archetype"):
            if settings.get(other) is not None:
                raise click.UsageError(f"--from and --{other} exclude each other")
    workspace = Workspace.find(directory)
    begun = command, kind, name, style == "text" and not quiet
    settings |= {"test": not no_test}
    if dry_run and settings.get("source") is not None and not show_diff:
        _show(_creation(workspace, *begun, **settings), style, quiet=quiet)
        return
    if dry_run or show_diff:
        preview(
            workspace.root,
            _creation(workspace, *begun, **settings).plan,
            show_diff=show_diff,
            quiet=quiet,
            style=style,
        )
        return
    # What it is tried out with takes longest to start: all else is done beside.
    with warm(library=workspace.is_library):
        creation = _creation(workspace, *begun, **settings)
        with exclusive(workspace.root, patience):
            created = creation.run()
    if style == "json":
        click.echo(json.dumps(_as_dict(created), indent=2))
    elif not quiet:
        _tell(created)
    warn_about(created.report, style)


def _creation(
    workspace: Workspace,
    command: str,
    kind: str,
    name: str,
    says: bool,
    **settings: Any,
) -> Creation:
    from mlax_scaffold.model.definition import Kind
    from mlax_scaffold.project.creation import Creation
    from mlax_scaffold.project.request import Request

    def say(text: str) -> None:
        if says:
            click.echo(text)

    return Creation(workspace, Request(command, Kind[kind], name, **settings), say)


def _show(creation: Creation, style: str, *, quiet: bool) -> None:
    """Print the spec of somebody's code, and what of it could not be carried over."""
    found: FindingsError | None = None
    try:
        creation = creation.traced()
    except FindingsError as error:
        found = error
    made = creation.conversion()
    notes = [
        {"line": n.line, "what": n.what, "todo": n.todo, "blocks": n.blocks}
        for n in made.notes
    ]
    if style == "json":
        shown = {"spec": made.text, "framework": made.framework, "notes": notes}
        click.echo(json.dumps(shown, indent=2))
    elif not quiet:
        click.echo(made.text, nl=False)
        for remark in made.remarks():
            click.echo(f"# {remark}")
    if found is not None and style == "json":
        raise found
    if found is not None:
        # The spec is to be saved as it is printed.
        click.echo(str(found), err=True)
        raise click.exceptions.Exit(FINDINGS) from found


def _as_dict(created: Created) -> dict[str, object]:
    return {
        "name": created.name,
        "spec": created.spec,
        "created": created.report.created,
        "updated": created.report.updated,
        "deleted": created.report.deleted,
        "signatures": created.signatures,
        "proof": created.proof,
    }


def _tell(created: Created) -> None:
    from mlax_scaffold.project.progress import plural

    report = created.report
    mine = [path for path in report.created if path in created.texts]
    parity = [path for path in mine if "/test_parity_" in path]
    rest = len(report.created) - len(mine) - 1
    click.echo(created.proof + "\n")
    word = click.style("created", fg="green")
    click.echo(f"  {word}  {click.style(created.spec, bold=True)}")
    for path in mine:
        click.echo(f"  {word}  {path}")
    if rest > 0:
        click.echo(f"  {word}  {plural(rest, 'file')} that these are built on")
    updated = click.style("updated", fg="yellow")
    for path in report.updated:
        click.echo(f"  {updated}  {path}")
    for path in report.deleted:
        click.echo(f"  {click.style('deleted', fg='red')}  {path}")
    click.echo("\n" + "\n".join(created.signatures))
    click.echo(
        f"\nNext:\n  1. edit {created.spec}: all else follows from it\n"
        "  2. mlax-scaffold generate\n"
        + (f"  3. pytest {created.tests}\n" if created.tests else "")
        + "".join(f"  4. compare with the original: pytest {p}\n" for p in parity)
        + "`mlax-scaffold undo` takes this back."
    )
