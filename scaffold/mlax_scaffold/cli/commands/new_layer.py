"""`mlax-scaffold new-layer`."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli.creating import create, creating


class LazyArchetypes(click.Choice):
    """The archetypes there are templates of."""

    def __init__(self) -> None:
        from mlax_scaffold.cli.archetypes import archetypes

        super().__init__(archetypes())


@click.command(epilog="Example: mlax-scaffold new-layer GatedAttention")
@click.argument("name")
@click.option(
    "--archetype",
    type=LazyArchetypes(),
    help="What to start from; default: what the name suggests.",
)
@creating("layer")
def command(name: str, archetype: str | None, like: str | None, **given: Any) -> None:
    """Create a layer: its spec, code, tests and docs.

    The spec starts from an archetype, such as "attention" for a name that ends so, or from a copy of
    an existing one. All that follows from it is generated, tried out in a copy, and
    written together; where something fails, nothing is.
    """
    if archetype is not None and like is not None:
        raise click.UsageError("--archetype and --like exclude each other")
    create("new-layer", "LAYER", name, archetype=archetype, like=like, **given)
