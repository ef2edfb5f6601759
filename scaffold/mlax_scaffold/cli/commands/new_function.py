"""`mlax-scaffold new-function`."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli.new import create, creating


@click.command(epilog="Example: mlax-scaffold new-function leaky_tanh")
@click.argument("name")
@creating("function")
def command(name: str, **given: Any) -> None:
    """Create a function: its spec, code, tests and docs.

    The spec starts from a small working function, from a copy of
    an existing one, or from code that is there already (--from), in jax, NumPy or PyTorch.
    All that follows from it is generated, tried out in a copy, and written together;
    where something fails, nothing is.
    """
    create("new-function", "FUNCTION", name, **given)
