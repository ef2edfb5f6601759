"""Specs of code that people have: found in a file, converted, formatted, and mended."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from mlax_scaffold.conversion import (
    FURTHEST,
    ConversionError,
    Converted,
    Note,
    convert,
)
from mlax_scaffold.conversion.output.description import Trial
from mlax_scaffold.conversion.source.other_files import Joined, with_other_files
from mlax_scaffold.errors import FindingsError, SpecError, UsageError
from mlax_scaffold.model.definition import Kind
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.remedies.mending import mend
from mlax_scaffold.render.formatting import FormatFault, format_python


@dataclass(frozen=True)
class Source:
    """`path.py:Thing`."""

    path: str
    thing: str

    @classmethod
    def read(cls, text: str) -> Source:
        """What --from was given.

        Raises:
            UsageError: it has another form, or there is no such file.
        """
        path, colon, thing = text.rpartition(":")
        if not colon or not thing.isidentifier() or not path:
            raise UsageError(
                f'"{text}" names nothing to convert: expected the path of a file and a name '
                "in it, as in --from model.py:Attention"
            )
        if not os.path.isfile(path):
            raise UsageError(
                f"{path} is no file: --from takes the path of a Python file"
            )
        return cls(path, thing)

    def text(self) -> str:
        """What is in the file.

        Raises:
            UsageError: it cannot be read.
        """
        try:
            return Path(self.path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{self.path} cannot be read: {error}") from error


@dataclass(frozen=True)
class Conversion:
    """The spec of something that somebody has."""

    source: Source
    framework: str
    text: str
    notes: tuple[Note, ...]
    trial: Trial | None = None

    @property
    def refusal(self) -> ConversionError | None:
        """Why it is no spec, where something has no counterpart."""
        blocking = [note for note in self.notes if note.blocks]
        if not blocking:
            return None
        return ConversionError(self.source.path, self.source.thing, blocking)

    def remarks(self) -> list[str]:
        """What is different, in lines for people."""
        return [note.at(self.source.path) for note in self.notes if not note.blocks]


def converted(
    source: Source,
    name: str,
    kind: Kind,
    taken: Iterable[str] = (),
    run: int = 0,
    axes: int = 0,
) -> Conversion:
    """The spec of what a source names, formatted; with constructors run so far, at least.

    Inputs of which nothing tells how many axes they have get so many, where that is told.
    """
    joined = with_other_files(source.path, source.text(), source.thing)
    known = frozenset(taken)
    made = _converted(source, joined.text, name, kind, known, run, axes)
    notes = tuple(sorted(_placed(note, joined) for note in made.notes))
    return Conversion(source, made.framework, formatted(made.text), notes, made.trial)


@lru_cache(maxsize=16)
def _converted(
    source: Source,
    text: str,
    name: str,
    kind: Kind,
    taken: frozenset[str],
    run: int,
    axes: int,
) -> Converted:
    """What becomes of a text; a command asks for it several times: to generate, to compare, and to tell."""
    given = source.path, text, source.thing, name, kind.name, taken
    made = convert(*given, run, axes)
    if made.whole and made.trial is None and kind.is_layer and not run and not axes:
        # With constructors run further it may be known what the original can be compared with.
        others = (convert(*given, further) for further in range(1, FURTHEST + 1))
        made = next((o for o in others if o.whole and o.trial is not None), made)
    return made


def _placed(note: Note, joined: Joined) -> Note:
    """A note with the file and the line that it is of."""
    file, line = joined.place(note.line)
    return replace(note, line=line, file=file)


def formatted(text: str) -> str:
    """A spec in the layout of specs; as it is where it is no Python."""
    try:
        [file] = format_python([Rendered("spec.py", text, "")], "specs")
    except FormatFault:
        return text
    return file.text


def mended(file: SpecFile, read: Callable[[Iterable[SpecFile]], object]) -> SpecFile:
    """The spec with the fixes of its findings, where these can be made."""
    try:
        read([file])
    except SpecError as error:
        texts = mend([file], error, read).texts
        if file.path in texts:
            return SpecFile(file.path, file.section, formatted(texts[file.path]))
    return file


def located(source: Source, error: SpecError) -> FindingsError:
    """What is wrong with a converted spec, with the lines of the code that it comes from."""
    lines = source.text().splitlines()
    found = []
    for diagnostic in error.diagnostics:
        at = _line_of(diagnostic.source_line, lines)
        place = f"{source.path}:{at}" if at else source.path
        found.append(f"{place}: {diagnostic.message}\n{_indented(str(diagnostic))}")
    return FindingsError(
        f"{source.thing} of {source.path} becomes a spec that is not valid as it is:\n"
        + "\n".join(found)
        + "\nNothing was changed. `--dry-run` prints the spec: save it as a file of specs/, "
        "and mend it there."
    )


def came_from(source: Source, spec: SpecFile, output: str) -> str:
    """The lines of the code that places of the spec come from, where an output names such places."""
    lines, written = source.text().splitlines(), spec.text.splitlines()
    said = []
    for number in dict.fromkeys(re.findall(re.escape(spec.path) + r":(\d+)", output)):
        text = written[int(number) - 1].strip() if int(number) <= len(written) else ""
        at = _line_of(text, lines) if text else 0
        if at:
            origin = f"{source.path}:{at}: `{lines[at - 1].strip()}`"
            said.append(f"{spec.path}:{number} comes from {origin}")
    return "\n\n" + "\n".join(said) if said else ""


def _line_of(text: str, lines: list[str]) -> int:
    """The line that another one comes from, as far as can be told by its text; 0: none."""
    plain = [line.strip() for line in lines]
    close = difflib.get_close_matches(text.strip(), plain, n=1, cutoff=0.5)
    return plain.index(close[0]) + 1 if close else 0


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
