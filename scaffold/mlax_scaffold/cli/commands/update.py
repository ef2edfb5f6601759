"""`mlax-scaffold update`."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli.owning import carry_out, owning


@click.command(epilog="Example: mlax-scaffold update --diff")
@click.argument("into", required=False, type=click.Path(exists=True, file_okay=False))
@owning
def command(into: str | None, **given: Any) -> None:
    """Merge later versions into source that `add` brought.

    INTO is a folder that `add` brought source into, or one above some; default: the current
    one. Functions and classes that you did not touch follow this version of mlax-scaffold;
    those that you edited stay as they are; where both changed one of them, its lines are
    merged. Lines that both changed are shown, and nothing is written until it is said which to
    take.
    """
    from mlax_scaffold.cli.version import version
    from mlax_scaffold.owning.operations import records_below, with_names

    found = [(with_names(old, (), version()), old) for old in records_below(into)]
    carry_out(found, "update", **given)
