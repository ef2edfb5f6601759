"""Where the spec is that a failure in generated code follows from."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mlax_scaffold.reader.files import installed_place
from mlax_scaffold.reader.origins import origin
from mlax_scaffold.reader.source import Source

_LOCK = "mlax-scaffold.lock"


def place_of(error: BaseException) -> str:
    """The place in the spec of the innermost generated line of a traceback, as errors show it.

    Empty where no line of it is generated, or its spec is not there.
    """
    for frame in reversed(list(_frames(error))):
        found = _place(frame)
        if found:
            return found
    return ""


def _frames(error: BaseException) -> Iterator[traceback.FrameSummary]:
    """The lines of a traceback; of a group of exceptions, those of the first one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    summary = traceback.TracebackException.from_exception(error, lookup_lines=False)
    yield from summary.stack


def _place(frame: traceback.FrameSummary) -> str:
    path = Path(frame.filename)
    root = _root(path.parent)
    if root is None or frame.lineno is None:
        return ""
    source = _sources(root).get(path.relative_to(root).as_posix(), "")
    if not source or path.name.startswith("test_"):
        return ""
    own = root / source
    spec = own if own.is_file() else installed_place(source) or own
    try:
        text, generated = spec.read_text("utf-8"), path.read_text("utf-8")
    except (OSError, UnicodeError):
        return ""
    span = None
    if frame.colno is not None and frame.end_lineno and frame.end_colno is not None:
        span = frame.colno, frame.end_lineno, frame.end_colno
    found = origin(text, generated, frame.lineno, span)
    if found is None:
        return ""
    reading = Source(source, text)
    reading.report(found.node, "the spec says here what fails")
    return str(reading.diagnostics[0])


@cache
def _root(folder: Path) -> Path | None:
    """The project that a folder belongs to."""
    for place in (folder, *folder.parents):
        if (place / _LOCK).is_file():
            return place
    return None


@cache
def _sources(root: Path) -> dict[str, str]:
    """The spec of each generated file, as the record of the last generation has it."""
    found: dict[str, str] = {}
    for line in (root / _LOCK).read_text("utf-8").splitlines():
        if line.startswith('["file"'):
            try:
                _, path, source, *_ = json.loads(line)
            except ValueError:
                continue
            found[path] = source
    return found
