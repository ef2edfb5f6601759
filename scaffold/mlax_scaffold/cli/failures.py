"""What a command raises, as text and exit status."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import click

from mlax_scaffold.cli import FINDINGS, INTERRUPTED
from mlax_scaffold.errors import (
    ConflictError,
    Diagnostic,
    FindingsError,
    Fix,
    MlaxScaffoldError,
    SpecError,
    UsageError,
)

USAGE = 2
FAULT = 3

FORMAT = "mlax_scaffold.format"
DEBUG = "mlax_scaffold.debug"


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
        case OSError() if _output_is_lost(error):
            # Every command tells that alike.
            raise error
    _fault(error, debug=bool(meta.get(DEBUG)))
    return FAULT


def _output_is_lost(error: OSError) -> bool:
    """Whether standard output is closed or full: it failed while something was printed."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code is click.echo.__code__ for frame, _ in frames)


def _spec_error(error: SpecError, style: str) -> None:
    found = error.diagnostics
    match style:
        case "json":
            content = {
                "errors": [as_dict(d) for d in found],
                "mended": sorted(error.mended),
                "left": [as_dict(d) for d in error.left],
                "written": error.written,
            }
            click.echo(json.dumps(content, indent=2))
        case "github":
            for diagnostic in found:
                click.echo(marked(diagnostic))
        case _:
            click.echo("\n\n".join(_coloured(d) for d in found))
            number = len(found)
            specs = len({d.location.path for d in found})
            click.echo(
                f"\n{number} error{_s(number)} in {specs} spec{_s(specs)}. "
                + _changed(error)
            )
            if offer := _offer(error):
                click.echo(offer)


def _changed(error: SpecError) -> str:
    if not error.written:
        return "Nothing was changed."
    return "Mended, and not yet generated from: " + ", ".join(error.written) + "."


def _offer(error: SpecError) -> str:
    """What `--fix` would do, and what it waits for."""
    found = error.diagnostics
    made = [d for d in found if d.location.path in error.mended]
    waiting = {d.location.path for d in found if d.fix} - set(error.mended)
    lines = []
    if made:
        number = f"{len(made)} of them"
        if len(made) == len(found):
            number = "it" if len(found) == 1 else "them all"
        lines.append(f"`mlax-scaffold generate --fix` mends {number}.")
    for path in sorted(waiting):
        own = [d for d in found if d.location.path == path]
        edits = sum(1 for d in own if d.fix)
        told = {d.message for d in own}
        left = [d for d in error.left if d.location.path == path]
        if edits == len(own) or any(d.message not in told for d in left):
            lines.append(_left(path, left))
        else:
            others = len(own) - edits
            lines.append(
                f"{path}: {edits} of {len(own)} can be mended by --fix, once the other"
                f"{_s(others)} {'is' if others == 1 else 'are'} by hand."
            )
    return "\n".join(lines)


def _left(path: str, left: Iterable[Diagnostic]) -> str:
    """What the edits of a spec leave to mend by hand, with its lines."""
    lines = [f"{path}: the edits shown bring to light what is to be mended by hand:"]
    for diagnostic in left:
        hint = f" {diagnostic.hint}" if diagnostic.hint else ""
        lines.append(f"  line {diagnostic.location.line}: {diagnostic.message}.{hint}")
    return "\n".join(lines)


def _finding(text: str, style: str) -> None:
    match style:
        case "json":
            click.echo(json.dumps({"errors": [{"message": text}]}, indent=2))
        case "github":
            click.echo(github(text))
        case _:
            click.echo(text)


def _fault(error: BaseException, *, debug: bool) -> None:
    if isinstance(error, OSError):
        from mlax_scaffold.write.failure import WriteError, explain, is_known

        error = WriteError(explain(error)) if is_known(error) else error
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
        "fix": diagnostic.fix and _fix(diagnostic.fix),
    }


def _fix(fix: Fix) -> dict[str, object]:
    """The edits of a fix, for editors."""
    return {
        "edits": [asdict(edit) for edit in fix.edits],
        "imports": [str(needed) for needed in fix.imports],
    }


def marked(diagnostic: Diagnostic) -> str:
    """A diagnostic as GitHub shows it beside its line."""
    place = diagnostic.location
    text = f"{diagnostic.message}\n{diagnostic.hint}".strip()
    return github(text, place.path, line=place.line, column=place.column)


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
