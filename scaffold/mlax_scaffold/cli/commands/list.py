"""`mlax-scaffold list`."""

from __future__ import annotations

import json

import click

from mlax_scaffold.cli import options

_TITLES = {
    "nn": "Layers",
    "block": "Blocks",
    "functional": "Functions",
    "loss": "Losses",
    "optim": "Optimizers",
    "schedule": "Schedules",
}


@click.command(epilog="Example: mlax-scaffold list --format json")
@options.project
@options.output_format("json")
def command(directory: str | None, style: str) -> None:
    """List layers, blocks, functions, losses, optimizers and schedules.

    A definition whose files are not as generated is marked with the verdict of `check`.
    Those that come with mlax-scaffold, and that a project's specs are built on, are
    marked as built in.
    """
    from mlax_scaffold.cli.changes import warn_unread
    from mlax_scaffold.model.definition import SECTIONS
    from mlax_scaffold.project.workspace import Workspace
    from mlax_scaffold.write import Verdict

    workspace = Workspace.find(directory)
    library = workspace.read()
    verdicts: dict[str, str] = {}
    for status in workspace.examine():
        if status.verdict is not Verdict.CLEAN:
            verdicts.setdefault(status.source, status.verdict.value)
    own = {file.path for file in workspace.own}
    origins = {file.path: file.origin for file in workspace.built_in}
    names = {str(plugin): plugin.name for plugin in workspace.plugins}
    entries = [
        {
            "kind": kind.name.lower(),
            "name": definition.name,
            "reference": str(definition.reference),
            "summary": definition.summary,
            "source": definition.source,
            "built_in": definition.source not in own,
            "plugin": names.get(origins.get(definition.source, ""), ""),
            "verdict": verdicts.get(definition.source, Verdict.CLEAN.value),
        }
        for section, kind in SECTIONS.items()
        for definition in library.within(section)
    ]
    if style == "json":
        click.echo(json.dumps({"definitions": entries}, indent=2))
        return
    warn_unread(workspace)
    if not entries:
        click.echo("There are no specs yet. Create one: mlax-scaffold new-layer NAME")
        return
    width = max(len(str(entry["name"])) for entry in entries)
    for section in SECTIONS:
        chosen = [e for e in entries if str(e["reference"]).startswith(f"{section}.")]
        if not chosen:
            continue
        click.echo(click.style(_TITLES[section], bold=True))
        for entry in chosen:
            marks = ["built in"] if entry["built_in"] else []
            if entry["plugin"]:
                marks = [f"of {entry['plugin']}"]
            if entry["verdict"] != Verdict.CLEAN.value:
                marks.append(click.style(str(entry["verdict"]), fg="red"))
            mark = f"  [{', '.join(marks)}]" if marks else ""
            click.echo(f"  {entry['name']!s:{width}}  {entry['summary']}{mark}")
        click.echo()
    click.echo(f"{len(entries)} definitions. More on one: mlax-scaffold show NAME")
