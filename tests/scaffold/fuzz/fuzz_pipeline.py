"""From the text of a spec to the files that it would become, without the disk."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

from mlax_scaffold.errors import SpecError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.reader import library as check_library
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.render import Draft, draft
from mlax_scaffold.render.docs import files as docs
from mlax_scaffold.render.formatting import format_python

SECONDS = 10
"""Seconds of the processor that a spec may take; the largest of the library takes a tenth of one."""

PROJECT = Project("mlax", "specs", "mlax", "tests", "docs")


class Hang(Exception):
    """Something takes longer than anything should."""


@dataclass(frozen=True)
class Made:
    """What a spec that is let through becomes."""

    spec: SpecFile
    draft: Draft
    files: tuple[Rendered, ...]
    """Its Python files, and the snippets of its page."""

    @property
    def definition(self) -> Definition:
        return self.draft.source.definition


@cache
def library_files() -> tuple[SpecFile, ...]:
    return find_specs(LIBRARY_SPECS, "specs")


@contextmanager
def limited(seconds: int = SECONDS) -> Iterator[None]:
    """Raise `Hang` where the block takes longer."""

    def stop(number, frame):
        raise Hang(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def make(file: SpecFile) -> Made | None:
    """What the spec becomes; None where the reader has findings, each of which can be told."""
    others = tuple(f for f in library_files() if f.path != file.path)
    try:
        library = check_library.read_library((file,), others)
        definition = next(d for d in library if d.source == file.path)
        made = draft(definition, library, PROJECT)
    except SpecError as error:
        _check_findings(file, error)
        return None
    extra = docs.snippets(definition, library, PROJECT)
    page = docs.reference_page(
        definition, library, PROJECT, {s.path: s.text for s in extra}
    )
    page.text.encode()
    return Made(file, made, (*made.files, *extra))


def _check_findings(file: SpecFile, error: SpecError) -> None:
    assert error.diagnostics
    str(error).encode()
    count = file.text.removeprefix("\ufeff").count("\n") + 1
    for found in error.diagnostics:
        assert found.location.path == file.path
        assert 1 <= found.location.line <= count
        assert found.location.column >= 1
        assert found.message


def formatted(made: Sequence[Made]) -> list[Made]:
    """The files of many specs, through one call of the formatter and the gate."""
    files = [
        replace(file, path=f"{i}/{file.path}")
        for i, one in enumerate(made)
        for file in one.files
    ]
    texts = {f.path: f.text for f in format_python(files, PROJECT.package)}
    result = []
    for i, one in enumerate(made):
        mine = [replace(f, text=texts[f"{i}/{f.path}"]) for f in one.files]
        one.draft.check({f.path: f for f in mine})
        result.append(replace(one, files=tuple(mine)))
    return result
