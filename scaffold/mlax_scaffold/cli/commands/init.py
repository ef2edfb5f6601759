"""`mlax-scaffold init`."""

from __future__ import annotations

import json
import os
import sys

import click

from mlax_scaffold.cli import PROGRAM, options

_SETTINGS = "pyproject.toml"


@click.command(epilog="Example: mlax-scaffold init mynet")
@click.argument("name", required=False)
@click.option("--package", metavar="NAME", help="Import name of the generated package.")
@click.option("--specs", metavar="PATH", help="Folder of the specs; default: specs.")
@click.option(
    "--output",
    metavar="PATH",
    help="Folder of the package; default: its name. With a src layout: src/NAME.",
)
@click.option(
    "--tests", metavar="PATH", help="Folder of its tests; default: tests/generated."
)
@click.option(
    "--docs", metavar="PATH", help="Folder of its pages; default: docs/reference."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before extending a file.")
@click.option(
    "--project",
    "directory",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="Folder to make a project; default: the current one.",
)
@options.dry_run
@options.show_diff
@options.wait
@options.quiet
@options.output_format("json")
def command(
    name: str | None,
    package: str | None,
    specs: str | None,
    output: str | None,
    tests: str | None,
    docs: str | None,
    yes: bool,
    directory: str | None,
    dry_run: bool,
    show_diff: bool,
    patience: float,
    quiet: bool,
    style: str,
) -> None:
    """Make this folder a project.

    NAME is the import name of the generated package, as with --package.

    Adds the settings of mlax-scaffold to pyproject.toml, at its end, and to
    .gitattributes that generated files merge by themselves; what is there already stays
    as it is. The folders of specs, code, tests and docs come with the first definition.
    """
    from mlax_scaffold.cli.changes import exclusive, preview
    from mlax_scaffold.project.initialization import initialize, prepare

    package = _named(name, package)
    if package is None:
        if not sys.stdin.isatty():
            raise click.UsageError("give the package's name: mlax-scaffold init mynet")
        package = str(click.prompt("Import name of the generated package"))
    folder = directory or "."
    prepared = prepare(folder, package, specs, output, tests, docs)
    if dry_run or show_diff:
        preview(
            prepared.root,
            lambda: prepared.plan,
            show_diff=show_diff,
            quiet=quiet,
            style=style,
        )
        return
    if prepared.extends and not yes and sys.stdin.isatty() and style == "text":
        click.echo(prepared.added)
        click.confirm("Add this to pyproject.toml?", default=True, abort=True, err=True)
    with exclusive(prepared.root, patience):
        report = initialize(prepared)
    if style == "json":
        content = {
            "created": report.created,
            "updated": report.updated,
            "advice": prepared.advice,
        }
        click.echo(json.dumps(content, indent=2))
        return
    if quiet:
        return
    for done, paths in (("Created", report.created), ("Extended", report.updated)):
        for path in paths:
            click.echo(f"{done} {path}.")
    if not (report.created or report.updated):
        click.echo(f'Nothing to do: this is the project of "{package}" already.')
    for advice in prepared.advice:
        click.echo(f"\n{advice}")
    click.echo("\nNext: mlax-scaffold new-layer NAME, such as Attention")


def _named(name: str | None, package: str | None) -> str | None:
    """The package that was named, in either way."""
    if name is None or name == package:
        return package
    if package is not None:
        raise click.UsageError(
            f'the package is "{name}" or "{package}": give one of them'
        )
    if os.path.basename(name) != name or os.path.exists(os.path.join(name, _SETTINGS)):
        folder = os.path.normpath(name)
        make = "" if os.path.isdir(folder) else f"mkdir -p {folder} && "
        raise click.UsageError(
            f'"{name}" is a folder, and NAME is the import name of a package. To make that '
            f"folder a project: {make}{PROGRAM} init {os.path.basename(folder)} "
            f"--project {folder}"
        )
    return name
