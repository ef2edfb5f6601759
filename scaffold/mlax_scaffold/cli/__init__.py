"""The command line. What a command needs is imported when it runs, not before."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import NoReturn

PROGRAM = "mlax-scaffold"


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    The status is 0 where all is done or clean, 1 for findings (drift, an invalid spec,
    a conflict), 2 for wrong usage, 3 for a fault, 130 for an interruption.
    """
    from mlax_scaffold.cli.group import cli

    for stream in (sys.stdout, sys.stderr):
        # Specs and their names may hold what a terminal cannot show.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli.main(None if arguments is None else list(arguments), prog_name=PROGRAM)
    sys.exit(0)
