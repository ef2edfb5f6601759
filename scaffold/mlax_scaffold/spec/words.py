"""The words of specs at run time: annotations, and the canonical forms of values."""

from __future__ import annotations

import enum
import importlib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mlax_scaffold.model.arrays import KINDS
from mlax_scaffold.model.hyper_types import HyperType, choice_type, row_type
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.spec.runtime import runtime


@dataclass(frozen=True)
class Word:
    """An annotation of a hyperparameter."""

    type: HyperType

    def __or__(self, other: None) -> Word:
        if other is not None:
            return NotImplemented
        return Word(replace(self.type, optional=True))


class PerDimWord:
    """`PerDim[word]`: one value, or one for each spatial axis."""

    def __getitem__(self, word: Word) -> Word:
        return Word(replace(word.type, per_dim=True))


@dataclass(frozen=True)
class ArrayWord:
    """An annotation of an input: an array of some kind, or a tree."""

    name: str
    shape: str | None = None
    optional: bool = False

    def __getitem__(self, shape: str) -> ArrayWord:
        return ArrayWord(self.name, shape, self.optional)

    def __or__(self, other: None) -> ArrayWord:
        if other is not None:
            return NotImplemented
        return ArrayWord(self.name, self.shape, optional=True)


def is_array(annotation: Any) -> bool:
    """Whether an annotation is that of an array input (keys are no arrays)."""
    if isinstance(annotation, ArrayWord):
        return annotation.name != "Key"
    return any(map(is_array, typing.get_args(annotation)))


def hyper_type(annotation: Any) -> HyperType:
    """The type that an annotation names: a word, a Python type, a Literal, or a tuple of a word.

    Raises:
        TypeError: it is no word of the spec language.
    """
    if isinstance(annotation, Word):
        return annotation.type
    origin, given = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (a for a in given if a is not type(None))
        return replace(hyper_type(inner), optional=True)
    if origin is typing.Literal:
        choices = tuple(choice for choice in given if choice is not None)
        return choice_type(choices, optional=None in given)
    if origin is tuple:
        if given[-1] is ...:
            return replace(hyper_type(given[0]), sequence=True)
        return row_type(hyper_type(part).word.name for part in given)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        members, name = tuple(m.name for m in annotation), annotation.__name__
        return HyperType(WORDS["str"], choices=members, enumeration=name)
    if annotation in (bool, float, int, str):
        return HyperType(WORDS[annotation.__name__])
    raise TypeError(f"{annotation!r} is no word of the spec language")


def canonical(
    owner: str, name: str, annotation: Any, value: Any, values: Mapping[str, Any]
) -> Any:
    """`value` in the canonical form that its annotation asks for.

    Args:
        owner: the spec, as messages call it.
        name: the hyperparameter.
        annotation: that of the hyperparameter.
        value: what the caller gave.
        values: the hyperparameters before this one.

    Raises:
        ValueError, TypeError: the value is not what the word takes.
    """
    kind = hyper_type(annotation)
    if kind.optional and value is None:
        return None
    if kind.word.structural:
        return tuple(value or ()) if kind.word.many else value
    check = kind.check
    if not check.function:
        return value
    before: list[Any] = [_enumeration(annotation)] if check.enumeration else []
    before += [check.choices] if check.choices else []
    before += [_function(check.element)] if check.element else []
    before += [tuple(map(_function, check.parts))] if check.parts else []
    if check.field:
        if check.field not in values:
            raise TypeError(f"{owner}: {name} needs a field {check.field} before it")
        before.append(values[check.field])
    return _function(check.function)(owner, *before, **{name: value})


def _function(check: str) -> Any:
    """A check: of the runtime, or by its dotted name that of a plugin."""
    module, _, name = check.rpartition(".")
    home = importlib.import_module(module) if module else runtime("_core.checks")
    return getattr(home, name)


def _enumeration(annotation: Any) -> Any:
    """The enumeration in an annotation: alone, in a tuple of its members, or before `| None`."""
    given = typing.get_args(annotation)
    return _enumeration(given[given[0] is type(None)]) if given else annotation


PerDim = PerDimWord()
PyTree = LayerOutput = ArrayWord("PyTree")
Key = ArrayWord("Key")


def __getattr__(name: str) -> Word | ArrayWord:
    if name in KINDS:
        return ArrayWord(name)
    if name in WORDS:
        return Word(HyperType(WORDS[name]))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
