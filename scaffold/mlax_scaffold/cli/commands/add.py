"""`mlax-scaffold add`."""

from __future__ import annotations

from typing import Any

import click

from mlax_scaffold.cli import options
from mlax_scaffold.cli.owning import carry_out, owning


@click.command(epilog="Example: mlax-scaffold add Linear Adam --into src/mynet/layers")
@click.argument(
    "names", nargs=-1, required=True, shell_complete=options.complete_library_names
)
@click.option(
    "--into",
    required=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Folder of the source, which is a package then.",
)
@click.option(
    "--package",
    metavar="NAME",
    help="Name to import it by; default: as its place says.",
)
@click.option(
    "--tests",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Folder of the tests; default: one in tests/.",
)
@click.option(
    "--plain-tests",
    is_flag=True,
    help="Tests that hold recorded values, and need pytest alone.",
)
@click.option("--modules", is_flag=True, help="With module classes of the layers.")
@owning
def command(
    names: tuple[str, ...],
    into: str,
    package: str | None,
    tests: str | None,
    plain_tests: bool,
    modules: bool,
    **given: Any,
) -> None:
    """Bring the source of layers into a project, to own and to edit.

    NAMES are layers, blocks, functions, optimizers or schedules of the library. What they need
    comes along: plain JAX that imports nothing of mlax-scaffold, under the project's names and
    in lines of its formatter's length. Nothing is overwritten. What the source began from is
    recorded in .owned/ beside it, to be committed with it, so that `mlax-scaffold update` can
    merge later versions into what you made of it.
    """
    from mlax_scaffold.cli.version import version
    from mlax_scaffold.errors import UsageError
    from mlax_scaffold.owning.operations import with_names
    from mlax_scaffold.owning.place import find_place
    from mlax_scaffold.owning.record import Record, read_record

    old = read_record(into)
    if old is None:
        place = find_place(into, package, tests)
        wanted = Record(place, "", (), plain_tests, modules)
    elif package or tests or plain_tests or modules:
        raise UsageError(
            f"{into} has source already, as {old.place.package}: what is added there follows "
            "what its .owned/settings.json says; pass names and --into alone, or choose "
            "another folder"
        )
    else:
        wanted = old
    record = with_names(wanted, names, version())
    carry_out([(record, old)], f"add {' '.join(names)}", **given)
