"""The types of hyperparameters: a word of the vocabulary with what qualifies it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mlax_scaffold.model.word import called
from mlax_scaffold.model.words import WORDS, Word

AXES = "spatial_dims"
"""The field that says how many spatial axes there are."""


def per_dim_elements() -> tuple[str, ...]:
    """What `PerDim[word]` takes."""
    return tuple(name for name, word in WORDS.items() if word.per_dim)


def row_elements() -> tuple[str, ...]:
    """What a tuple of several words may hold."""
    return ("Size", *sequence_elements())


def sequence_elements() -> tuple[str, ...]:
    """What `tuple[word, ...]` takes."""
    return tuple(
        name
        for name, word in WORDS.items()
        if word.element and word.check and not word.structural
    )


@dataclass(frozen=True)
class Check:
    """The call that makes a value canonical, or raises: a function as `Word.check` names it."""

    function: str
    choices: tuple[str | int, ...] = ()
    """What it takes before the value: the choices,"""
    element: str = ""
    """another function that checks each item,"""
    parts: tuple[str, ...] = ()
    """or functions that check each part of a tuple,"""
    field: str = ""
    """and a hyperparameter."""
    enumeration: str = ""
    """Of a member: its class, which comes first."""


@dataclass(frozen=True)
class HyperType:
    """The type of a hyperparameter: a word with what qualifies it."""

    word: Word
    optional: bool = False
    choices: tuple[str | int, ...] = ()
    per_dim: bool = False
    sequence: bool = False
    """Whether it is `tuple[word, ...]`."""
    enumeration: str = ""
    """The enumeration beside the definition whose members are the choices."""

    @property
    def takes(self) -> str:
        """What a value may be, for the documentation."""
        takes = self.word.takes
        if self.choices:
            takes = "one of " + ", ".join(map(_shown, self.choices))
        if self.enumeration:
            takes = f"a member of {self.enumeration}, or its name: {takes}"
        if self.per_dim:
            takes += ", or a sequence of one for each spatial axis"
        if self.sequence:
            takes = f"a sequence of which each is {takes}"
        return f"{takes}, or None" if self.optional else takes

    @property
    def per_axis(self) -> bool:
        """Whether a value is of each spatial axis by itself, whose number `AXES` says."""
        return self.per_dim or self.word.per_axis

    @property
    def check(self) -> Check:
        """How a value is made canonical, where it is not None."""
        if self.enumeration:
            function = "members" if self.sequence else "member"
            return Check(function, enumeration=self.enumeration)
        if self.choices:
            function = "choices" if self.sequence else "choice"
            return Check(function, choices=self.choices)
        if self.per_dim:
            return Check("per_dim", element=self.word.check, field=AXES)
        if self.word.parts:
            parts = tuple(part.check for part in self.word.parts)
            return Check("rows" if self.sequence else "row", parts=parts)
        if self.sequence:
            return Check("sequence", element=self.word.check)
        return Check(self.word.check, field=AXES if self.word.per_axis else "")

    @property
    def argument(self) -> str:
        """Type annotation of the argument of `init`."""
        if self.enumeration:
            one = f"{self.enumeration} | str"
            whole = f"Sequence[{one}]" if self.sequence else one
            return f"{whole} | None" if self.optional else whole
        return self._annotate(self.word.argument, "{0} | Sequence[{0}]", "Sequence[{}]")

    @property
    def canonical(self) -> str:
        """Type annotation of the field of `hyperparams`."""
        every = "tuple[{0}, ...]"
        return self._annotate(self.word.canonical, every, every)

    def _annotate(self, base: str, per_dim: str, sequence: str) -> str:
        if self.enumeration:
            base = self.enumeration
        elif self.choices:
            base = f"Literal[{', '.join(map(_shown, self.choices))}]"
        if self.per_dim:
            base = per_dim.format(base)
        if self.sequence:
            base = sequence.format(base)
        return f"{base} | None" if self.optional else base

    @property
    def example(self) -> str:
        """Expression of a value."""
        if self.choices:
            first = repr(self.choices[0])
            return f"({first}, {first})" if self.sequence else first
        example = self.word.example
        return f"({example}, {example})" if self.sequence else example

    @property
    def invalid(self) -> tuple[Any, ...]:
        """Values that it does not take."""
        values: tuple[Any, ...] = self.word.invalid
        if self.choices:
            numbers = [c for c in self.choices if isinstance(c, int)]
            values = ("no such choice", max(numbers, default=0) + 1)
        if self.sequence:
            values = (1, *((value,) for value in values))
        if self.optional:
            return tuple(value for value in values if value is not None)
        return values if None in values else (*values, None)

    @property
    def strategy(self) -> str:
        """Expression that draws a value in a test."""
        if self.word.opaque and self.optional and not self.choices:
            return "nothing()"
        base = called(self.word.strategy)
        if self.choices:
            base = f"choices({', '.join(map(_shown, self.choices))})"
        if self.per_dim:
            base = f"per_dim({base}, spatial_dims)"
        if self.sequence:
            base = f"sequences({base})"
        return f"optional({base})" if self.optional else base


def _shown(choice: str | int) -> str:
    """Its literal, of a text in double quotes, which the formatter would choose."""
    return json.dumps(choice, ensure_ascii=False)


def row_type(names: Iterable[str]) -> HyperType:
    """The type of `tuple[int, float]`, a tuple of one value for each word."""
    names = tuple(names)
    words = tuple(WORDS[name] for name in names)
    types = (
        ", ".join(w.argument for w in words),
        ", ".join(w.canonical for w in words),
    )
    return HyperType(
        Word(
            f"tuple[{', '.join(names)}]",
            f"a tuple of {' and '.join(word.takes for word in words)}",
            "row",
            " -> ".join(f"tuple[{given}]" for given in types),
            f"rows({', '.join(called(word.strategy) for word in words)})",
            f"({', '.join(word.example for word in words)})",
            (1, ()),
            parts=words,
        )
    )


def choice_type(choices: tuple[str | int, ...], optional: bool) -> HyperType:
    """The type of `Literal["a", "b"]`, or of `Literal[1, 2]`."""
    numbers = all(isinstance(choice, int) for choice in choices)
    word = WORDS["int" if numbers else "str"]
    return HyperType(word, optional=optional, choices=choices)
