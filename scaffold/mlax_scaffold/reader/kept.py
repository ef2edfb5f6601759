"""Reads each text once: `watch`, and commands that follow each other, meet most of them unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.word import SPEC, Word
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.parallel import divided
from mlax_scaffold.reader.specs import read_specs

_Place = tuple[str, str]
"""The section and the name of a file of specs."""


class _Asked(Mapping[_Place, str]):
    """The texts of other specs, and which of them were asked for."""

    def __init__(self, texts: Mapping[_Place, str]):
        self.texts = texts
        self.asked: dict[_Place, str | None] = {}

    def __getitem__(self, place: _Place) -> str:
        self.asked[place] = self.texts.get(place)
        return self.texts[place]

    def __iter__(self) -> Iterator[_Place]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


Found = tuple[tuple[Definition, ...], tuple[Diagnostic, ...]]
"""What a text says, and what is wrong with it."""

_Answers = dict[_Place, str | None]
"""The texts of other specs that were asked for."""

_Reading = tuple[_Answers, tuple[Definition, ...]]
"""Definitions, with the answers that they follow from."""

_Readings = list[_Reading]


class Shelf(Protocol):
    """Where readings are kept for the next process."""

    def take(self, source: object) -> _Reading | None:
        """What was put for the same source, or None."""
        ...

    def put(self, source: object, reading: _Reading) -> None:
        """Keep a reading."""
        ...


@lru_cache(maxsize=1024)
def _readings(
    path: str, text: str, words: frozenset[str], foreign: bool, own: frozenset[Word]
) -> _Readings:
    """What a text was read to last, which the caller puts there: one reading, or none.

    `own` are the words of plugins.
    """
    return []


def read_once(
    path: str,
    text: str,
    words: frozenset[str] = frozenset(),
    *,
    foreign: bool = False,
    files: Mapping[_Place, str] = MappingProxyType({}),
    shelf: Shelf | None = None,
) -> Found:
    """What `read_specs` returns, read again only where it could be something else.

    A text with findings is read each time: hints tell of other files, too.
    """
    given = [(path, text)]
    [found] = read_all(given, words, foreign=foreign, files=files, shelf=shelf)
    return found


def read_all(
    texts: Sequence[tuple[str, str]],
    words: frozenset[str] = frozenset(),
    *,
    foreign: bool = False,
    files: Mapping[_Place, str] = MappingProxyType({}),
    shelf: Shelf | None = None,
) -> list[Found]:
    """What `read_once` returns of each path and its text."""
    own = frozenset(word for word in WORDS.values() if word.module != SPEC)
    if own:
        # The words of plugins are code, which the name of the generator does not tell.
        shelf = None
    ordered = sorted(words)
    sources = [(path, text, ordered, foreign) for path, text in texts]
    kept = [_readings(path, text, words, foreign, own) for path, text in texts]
    if shelf is not None:
        for source, readings in zip(sources, kept, strict=True):
            if not readings and (reading := shelf.take(source)):
                readings.append(reading)
    known = [_known(readings, files) for readings in kept]

    def read(share: Sequence[tuple[str, str]]) -> list[tuple[_Answers, Found]]:
        made: list[tuple[_Answers, Found]] = []
        for path, text in share:
            others = _Asked(files)
            found = read_specs(path, text, words, foreign=foreign, files=others)
            made.append((others.asked, found))
        return made

    unknown = [text for text, found in zip(texts, known, strict=True) if found is None]
    fresh = iter(divided(read, unknown))

    def found(
        source: object,
        readings: _Readings,
        definitions: tuple[Definition, ...] | None,
    ) -> Found:
        if definitions is not None:
            return definitions, ()
        asked, (read, problems) = next(fresh)
        if read and not problems:
            readings[:] = [(asked, read)]
            if shelf is not None:
                shelf.put(source, (asked, read))
        return read, problems

    return [found(*each) for each in zip(sources, kept, known, strict=True)]


def _known(
    readings: _Readings, files: Mapping[_Place, str]
) -> tuple[Definition, ...] | None:
    for asked, definitions in readings:
        if all(files.get(place) == other for place, other in asked.items()):
            return definitions
    return None
