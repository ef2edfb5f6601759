"""The command line. What a command needs is imported when it runs, not before."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

PROGRAM = "mlax-scaffold"


FINDINGS = 1
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    The status is 0 where all is done or clean, 1 for findings (drift, an invalid spec,
    a conflict, an output that cannot be written to), 2 for wrong usage, 3 for a fault,
    130 for an interruption.
    """
    try:
        import click

        from mlax_scaffold.cli.group import cli

        for stream in (sys.stdout, sys.stderr):
            # Specs and their names may hold what a terminal cannot show.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            # Without an exit status for an interruption, click would call it a "no".
            status = cli.main(
                None if arguments is None else list(arguments),
                prog_name=PROGRAM,
                standalone_mode=False,
            )
        except click.ClickException as error:
            error.show()
            status = error.exit_code
        except click.Abort as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            click.echo("Aborted.", err=True)
            status = FINDINGS
        sys.exit(status or 0)
    except KeyboardInterrupt:
        # An interruption of a command is told by the group; this one came before.
        sys.stderr.write("\nInterrupted.\n")
        sys.exit(INTERRUPTED)
    except OSError as error:
        # What fails on a file names it; without a name it is standard output.
        if error.filename is not None:
            raise
        _discard_output()
        why = error.strerror or str(error)
        sys.stderr.write(f"Error: standard output cannot be written to: {why}\n")
        sys.exit(FINDINGS)


def _discard_output() -> None:
    """Let what is left in the buffer go nowhere, or Python fails on it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
