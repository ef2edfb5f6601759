"""`mlax-scaffold doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.failures import FINDINGS

if TYPE_CHECKING:
    from mlax_scaffold.project.environment import Diagnosis


@click.command(
    epilog="Example: mlax-scaffold doctor --format json, to go with a report. "
    "Exit status: 0 nothing is wrong; 1 something is."
)
@options.project
@options.output_format("json")
@click.pass_context
def command(ctx: click.Context, directory: str | None, style: str) -> None:
    """Say what mlax-scaffold runs with, from where, and what is wrong with it.

    Lists the versions of all that takes part, plugins too, and the places that they are
    loaded from, and looks at the project of the current folder, if it is in one. Changes nothing.
    """
    from mlax_scaffold.project.environment import diagnose

    found = diagnose(directory)
    if style == "json":
        click.echo(json.dumps(asdict(found), indent=2))
    else:
        _tell(found)
    if found.problems:
        ctx.exit(FINDINGS)


def _tell(found: Diagnosis) -> None:
    width = max(len(part.name) for part in found.parts)
    longest = max(len(part.version) for part in found.parts)
    for part in found.parts:
        version = part.version or "not installed"
        use = f"  ({part.needed_for})" if part.needed_for else ""
        line = f"{part.name:{width}}  {version:{longest}}  {part.place}{use}"
        click.echo(line.rstrip())
    if found.plugins:
        click.echo("\n" + click.style("Plugins", bold=True))
    for plugin in found.plugins:
        use = "" if plugin.used else "  (not named by this project)"
        offers = ", ".join(plugin.offers) or "nothing"
        click.echo(
            f"  {plugin.name}  {plugin.distribution} {plugin.version}, {plugin.package} in "
            f"{plugin.place}: {offers}{use}"
        )
    if found.project:
        click.echo("\n" + click.style("Project", bold=True))
        wide = max(len(name) for name, _ in found.project)
        for name, value in found.project:
            click.echo(f"  {name:{wide}}  {value}")
    click.echo()
    if not found.problems:
        click.echo(click.style("Nothing is wrong.", fg="green"))
    for problem in found.problems:
        word = click.style("Wrong", fg="red")
        click.echo(f"{word}: {problem.text}\n  To do: {problem.advice}")
