"""`mlax-scaffold new-layer`."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli.new import create, creating


def _complete(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """The archetypes that begin so, those of the project's plugins too."""
    from mlax_scaffold.errors import MlaxScaffoldError
    from mlax_scaffold.project.archetypes import archetypes
    from mlax_scaffold.project.workspace import Workspace

    try:
        plugins = Workspace.find(ctx.params.get("directory")).plugins
    except MlaxScaffoldError:
        plugins = ()
    return [name for name in archetypes(plugins) if name.startswith(incomplete)]


@click.command(epilog="Example: mlax-scaffold new-layer GatedAttention")
@click.argument("name")
@click.option(
    "--archetype",
    metavar="ARCHETYPE",
    shell_complete=_complete,
    help="What to start from, such as dense or attention, or an archetype of a plugin; "
    "default: what the name suggests.",
)
@creating("layer")
def command(name: str, archetype: str | None, like: str | None, **given: Any) -> None:
    """Create a layer: its spec, code, tests and docs.

    The spec starts from an archetype, such as "attention" for a name that ends so, from a
    copy of an existing one, or from code that is there already (--from), in flax,
    equinox, haiku, PyTorch, or plain Python. All that follows from it is generated, tried
    out in a copy, and written together; where something fails, nothing is.
    """
    if archetype is not None and like is not None:
        raise click.UsageError("--archetype and --like exclude each other")
    create("new-layer", "LAYER", name, archetype=archetype, like=like, **given)
