"""Finds defaults that the words of their own hyperparameters do not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.hyper_types import HyperType
from mlax_scaffold.model.import_time import Refused, check_value
from mlax_scaffold.model.word import Word
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.reader.remedies.names import word as import_of
from mlax_scaffold.reader.source import Source, dotted

_OF_PYTHON = {"boolean": bool, "string": str}
"""The type of Python that values have, by the check of their word."""
_NUMBERS = ("int", "float")


def check_taken(
    source: Source,
    annotation: ast.expr,
    default: ast.expr,
    kind: HyperType,
    imports: Mapping[str, Import],
) -> bool:
    """Report `rate: Positive = 0.0`: whether it is one that its word does not take."""
    meanings = {name: imported.meaning for name, imported in imports.items()}
    if kind.choices or kind.word.parts:
        return False
    for node, value in _values(default, meanings):
        if not _is_refused(kind.word, value):
            continue
        fix = None
        if (
            kind.word.check == "boolean"
            and isinstance(node, ast.Constant)
            and node.value in (0, 1)
        ):
            fix = Fix((source.edit(node, str(bool(node.value))),))
        elif other := _wider(kind.word, value):
            fix = _of_word(source, annotation, kind.word, other)
        source.report(
            node,
            f"`{source.text_of(node)}` is no value of `{source.text_of(annotation)}`, "
            f"which takes {kind.takes}",
            "A caller who leaves it out would be refused.",
            fix=fix,
        )
        return True
    return False


def _values(
    default: ast.expr, meanings: Mapping[str, str]
) -> Iterator[tuple[ast.expr, Any]]:
    """The numbers, texts and truth values that a default consists of."""
    for node in default.elts if isinstance(default, ast.Tuple) else [default]:
        try:
            value = check_value(node, meanings)
        except Refused:
            continue
        if isinstance(value, bool | int | float | str):
            yield node, value


def _is_refused(word: Word, value: object) -> bool:
    if word.range is not None:
        return value not in word.range
    return not isinstance(value, _OF_PYTHON.get(word.check, object))


def _wider(word: Word, value: object) -> str | None:
    """The word that takes this value, and all that another takes, and as little else as can be."""
    if word.range is None or word.measured or word.canonical not in _NUMBERS:
        return None
    ranges = {
        w.name: w.range
        for w in WORDS.values()
        if w.range is not None and w.canonical in _NUMBERS and not w.measured
    }
    fit = {n: r for n, r in ranges.items() if value in r and r.holds(word.range)}
    for name, found in fit.items():
        if all(other.holds(found) for other in fit.values()):
            return name
    return None


def _of_word(
    source: Source, annotation: ast.expr, word: Word, other: str
) -> Fix | None:
    """A type with another word in the place of its own."""
    found = [n for n in ast.walk(annotation) if isinstance(n, ast.Name | ast.Attribute)]
    named = [n for n in found if (dotted(n) or "").rpartition(".")[2] == word.name]
    if len(named) != 1:
        return None
    if other in ("int", "float"):
        return Fix((source.edit(named[0], other),))
    needed = import_of(source, other)
    return Fix((source.edit(named[0], needed.bound),), (needed,))
