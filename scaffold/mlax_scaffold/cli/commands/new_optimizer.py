"""`mlax-scaffold new-optimizer`."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli.new import create, creating


@click.command(epilog="Example: mlax-scaffold new-optimizer SlowAdam --like Adam")
@click.argument("name")
@creating("optimizer")
def command(name: str, **given: Any) -> None:
    """Create an optimizer: its spec, code, tests and docs.

    The spec starts from a small working optimizer, from a copy of
    an existing one, or from code that is there already (--from), in optax.
    All that follows from it is generated, tried out in a copy, and written together;
    where something fails, nothing is.
    """
    create("new-optimizer", "OPTIMIZER", name, **given)
