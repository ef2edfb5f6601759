"""Reads each text once: `watch`, and commands that read the specs again, meet most of them unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.word import SPEC, Word
from mlax_scaffold.model.words import WORDS
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


_Readings = list[tuple[dict[_Place, str | None], tuple[Definition, ...]]]
"""Definitions, with the answers that they follow from."""


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
) -> tuple[tuple[Definition, ...], tuple[Diagnostic, ...]]:
    """What `read_specs` returns, read again only where it could be something else.

    A text with findings is read each time: hints tell of other files, too.
    """
    own = frozenset(word for word in WORDS.values() if word.module != SPEC)
    readings = _readings(path, text, words, foreign, own)
    for asked, definitions in readings:
        if all(files.get(place) == other for place, other in asked.items()):
            return definitions, ()
    texts = _Asked(files)
    definitions, problems = read_specs(path, text, words, foreign=foreign, files=texts)
    if definitions and not problems:
        readings[:] = [(texts.asked, definitions)]
    return definitions, problems
