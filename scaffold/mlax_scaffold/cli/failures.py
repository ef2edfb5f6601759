"""What a command raises, as text and exit status."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

import click

from mlax_scaffold.cli import FINDINGS, INTERRUPTED
from mlax_scaffold.errors import (
    ConflictError,
    Diagnostic,
    MlaxScaffoldError,
    SpecError,
    UsageError,
)

USAGE = 2
FAULT = 3

FORMAT = "mlax_scaffold.format"
DEBUG = "mlax_scaffold.debug"


class FindingsError(MlaxScaffoldError):
    """What was asked for was looked into, and is not as it should be."""


def report(error: BaseException, meta: Mapping[str, Any]) -> int:
    """Tell the user what went wrong; return the exit status.

    Findings go to stdout, in the format that was asked for; all else to stderr.
    """
    style = meta.get(FORMAT, "text")
    match error:
        case SpecError():
            _spec_error(error, style)
            return FINDINGS
        case ConflictError() | FindingsError():
            _finding(str(error), style)
            return FINDINGS
        case UsageError():
            click.echo(f"{click.style('Error', fg='red')}: {error}", err=True)
            return USAGE
        case KeyboardInterrupt():
            click.echo("\nInterrupted.", err=True)
            return INTERRUPTED
        case OSError() if error.filename is None:
            # Standard output is closed or full, which every command tells alike.
            raise error
    _fault(error, debug=bool(meta.get(DEBUG)))
    return FAULT


def _spec_error(error: SpecError, style: str) -> None:
    found = error.diagnostics
    match style:
        case "json":
            click.echo(json.dumps({"errors": [as_dict(d) for d in found]}, indent=2))
        case "github":
            for diagnostic in found:
                place = diagnostic.location
                click.echo(
                    github(
                        f"{diagnostic.message}\n{diagnostic.hint}".strip(),
                        place.path,
                        line=place.line,
                        column=place.column,
                    )
                )
        case _:
            click.echo("\n\n".join(_coloured(d) for d in found))
            number = len(found)
            specs = len({d.location.path for d in found})
            click.echo(
                f"\n{number} error{_s(number)} in {specs} spec{_s(specs)}. "
                "Nothing was changed."
            )


def _finding(text: str, style: str) -> None:
    match style:
        case "json":
            click.echo(json.dumps({"errors": [{"message": text}]}, indent=2))
        case "github":
            click.echo(github(text))
        case _:
            click.echo(text)


def _fault(error: BaseException, *, debug: bool) -> None:
    known = isinstance(error, MlaxScaffoldError)
    if debug:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    name = "" if known else f"{type(error).__name__}: "
    click.echo(f"{click.style('Error', fg='red')}: {name}{error}", err=True)
    if not known:
        rerun = "" if debug else "run it again as `mlax-scaffold --debug ...` and "
        click.echo(
            "This is a fault of mlax-scaffold, not of your specs. To report it, "
            f"{rerun}open an issue with the traceback, the command and, if it can be "
            "shown, the spec.",
            err=True,
        )


def as_dict(diagnostic: Diagnostic) -> dict[str, object]:
    """A diagnostic for editors."""
    place = diagnostic.location
    return {
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "width": diagnostic.width,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    }


def github(message: str, path: str = "", *, line: int = 0, column: int = 0) -> str:
    """A workflow command that GitHub shows beside the line."""
    places = [("file", path), ("line", line), ("col", column)]
    properties = ",".join(
        f"{name}={_escaped(str(value), ':,')}" for name, value in places if value
    )
    return f"::error {properties}::{_escaped(message)}"


def _escaped(text: str, also: Iterable[str] = "") -> str:
    for character in ("%", "\r", "\n", *also):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _coloured(diagnostic: Diagnostic) -> str:
    place = str(diagnostic.location)
    rest = str(diagnostic)[len(place) :]
    return click.style(place, bold=True) + rest


def _s(number: int) -> str:
    return "" if number == 1 else "s"
