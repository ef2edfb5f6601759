"""Where in the library a name is defined."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.model.word import SPEC
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.reader.files import LIBRARY_SPECS


def module_name(name: str) -> str:
    """The file name, without suffix, of the definition: snake case (`LSTMCell`: `lstm_cell`)."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return words.lower()


def home(name: str) -> str | None:
    """The module of a plugin's word, or of the library's spec of a layer, a block or a schedule."""
    if name in plugin_words():
        return plugin_words()[name]
    stem = module_name(name)
    for kind in (Kind.LAYER, Kind.BLOCK, Kind.SCHEDULE):
        place = _modules(kind).get(stem)
        if place and f"\nclass {name}(" in place.read_text(encoding="utf-8"):
            return f"mlax_scaffold.specs.{kind.section}.{stem}"
    return None


@cache
def _modules(kind: Kind) -> dict[str, Path]:
    return {path.stem: path for path in (LIBRARY_SPECS / kind.section).glob("*.py")}


def plugin_words() -> dict[str, str]:
    """The words of plugins, and the modules that specs import them from."""
    return {name: word.module for name, word in WORDS.items() if word.module != SPEC}
