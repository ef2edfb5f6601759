"""The types of hyperparameters: a word of the vocabulary with what qualifies it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from mlax_scaffold.model.words import WORDS, Word

PER_DIM_ELEMENTS = ("Size", "Count")
SEQUENCE_ELEMENTS = tuple(
    name
    for name, word in WORDS.items()
    if not word.structural
    and word.check
    and name not in ("Boundaries", "Padding", "Scheduled", "Size", "Sizes")
)
"""What `tuple[word, ...]` takes."""


@dataclass(frozen=True)
class HyperType:
    """The type of a hyperparameter: a word with what qualifies it."""

    word: Word
    optional: bool = False
    choices: tuple[str, ...] = ()
    per_dim: bool = False
    sequence: bool = False
    """Whether it is `tuple[word, ...]`."""

    @property
    def takes(self) -> str:
        """What a value may be, for the documentation."""
        takes = self.word.takes
        if self.choices:
            takes = "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.per_dim:
            takes += ", or a sequence of one for each spatial axis"
        if self.sequence:
            takes = f"a sequence of which each is {takes}"
        return f"{takes}, or None" if self.optional else takes

    @property
    def argument(self) -> str:
        """Type annotation of the argument of `init`."""
        return self._annotate(self.word.argument, "{0} | Sequence[{0}]", "Sequence[{}]")

    @property
    def canonical(self) -> str:
        """Type annotation of the field of `hyperparams`."""
        every = "tuple[{0}, ...]"
        return self._annotate(self.word.canonical, every, every)

    def _annotate(self, base: str, per_dim: str, sequence: str) -> str:
        if self.choices:
            base = f"Literal[{', '.join(map(_quoted, self.choices))}]"
        if self.per_dim:
            base = per_dim.format(base)
        if self.sequence:
            base = sequence.format(base)
        return f"{base} | None" if self.optional else base

    @property
    def example(self) -> str:
        """Expression of a value."""
        if self.choices:
            return repr(self.choices[0])
        example = self.word.example
        return f"({example}, {example})" if self.sequence else example

    @property
    def invalid(self) -> tuple[str, ...]:
        """Expressions of values that it does not take."""
        if self.choices:
            return ('"no such choice"', "1")
        if self.sequence:
            return ("1", *(f"({value},)" for value in self.word.invalid))
        return self.word.invalid

    @property
    def strategy(self) -> str:
        """Expression that draws a value in a test."""
        if self.word.name in _MEANINGS and self.optional and not self.choices:
            return "st.none()"
        base = self.word.strategy
        if self.choices:
            base = f"choices({', '.join(map(_quoted, self.choices))})"
        if self.per_dim:
            base = f"per_dim({base}, spatial_dims)"
        if self.sequence:
            base = f"sequences({base}, max_size=2)"
        return f"optional({base})" if self.optional else base


_MEANINGS = ("str", "AxisName")
"""Words of which nobody can know which values mean something: None alone is drawn."""


def _quoted(text: str) -> str:
    """A string literal in double quotes, which the formatter would choose."""
    return json.dumps(text, ensure_ascii=False)


def choice_type(choices: tuple[str, ...], optional: bool) -> HyperType:
    """The type of `Literal["a", "b"]`."""
    return HyperType(WORDS["str"], optional=optional, choices=choices)
