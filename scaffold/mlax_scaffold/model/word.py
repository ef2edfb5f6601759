"""What is known of a word of the vocabulary. `mlax_scaffold.model.words` holds the words."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

SPEC = "mlax_scaffold.spec"
_LARGEST = sys.float_info.max


def bound(module: str) -> str:
    """What generated files call a module of a plugin."""
    return module.replace(".", "_")


def called(expression: str) -> str:
    """A call as generated files write it: `pack.checks.even` is `pack_checks.even` in them."""
    name, parenthesis, rest = expression.partition("(")
    module, dot, function = name.rpartition(".")
    return bound(module) + dot + function + parenthesis + rest


@dataclass(frozen=True)
class Range:
    """The numbers that a word takes."""

    least: float = -math.inf
    greatest: float = math.inf
    above: bool = False
    """Whether the least is none of them."""
    below: bool = False
    """Whether the greatest is none of them."""
    whole: bool = False
    infinite: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        if self.whole and not isinstance(value, int):
            return False
        if isinstance(value, int) and not (self.whole or abs(value) <= _LARGEST):
            return False
        if value != value or (not self.infinite and value in (math.inf, -math.inf)):
            return False
        return (
            self.least <= value <= self.greatest
            and not (self.above and value == self.least)
            and not (self.below and value == self.greatest)
        )

    def holds(self, other: Range) -> bool:
        """Whether it has all numbers of another one."""
        return (
            other.whole >= self.whole
            and self.infinite >= other.infinite
            and (self.least, self.above) <= (other.least, other.above)
            and (self.greatest, not self.below) >= (other.greatest, not other.below)
        )


@dataclass(frozen=True)
class Word:
    """One word of the vocabulary."""

    name: str
    takes: str
    """What a value may be, as the documentation says it."""
    check: str
    """The function that makes a value canonical; empty where any value is: one of `_core.checks`, or of a
    module of a plugin, by its dotted name."""
    types: str
    """Type of the argument of `init`; after an arrow that of the field of `hyperparams`, if it is another."""
    strategy: str = ""
    """Expression of what a test tries: a call of `testing.strategies`, or by a dotted name of a plugin's."""
    example: str = ""
    """Expression of a value that the word takes."""
    invalid: tuple[Any, ...] = field(default=(), compare=False)
    """Values that it does not take; not all are hashable, or equal to themselves."""
    shown: str = ""
    """Expression of a value in the example of a page; the other example where it is empty."""
    shown_in_schedule: str = ""
    """The same for a schedule."""

    module: str = SPEC
    """What specs import it from."""
    spellings: tuple[str, ...] = ()
    """Names of types that people write and mean it: `generate --fix` puts the word in their place."""

    # What `self.name` is.
    attribute: str = "hyperparameter"
    """Or "initializer", "layer", "layers", "mask", "optimizer", "optimizers", "scheduled"."""
    home: str = ""
    """Section of the only kind of definition that has such fields."""
    toy: str = ""
    """Expression of what stands for layers or optimizers in a test."""
    stacked: bool = False
    """Whether arrays have a first axis of the size `depth`."""
    recurrent: bool = False
    """Whether it is a cell."""

    # What a value can do.
    range: Range | None = None
    """The numbers that it takes, or of a sequence each item; None: it takes no numbers, or others, too."""
    measured: bool = False
    """Whether it is a size that an input shows."""
    names: str = ""
    """What its name means in a shape: "axis", "axes", or a "switch" between shapes."""
    per_dim: bool = False
    """Whether `PerDim[...]` takes it."""
    element: bool = True
    """Whether `tuple[..., ...]` takes it."""
    per_axis: bool = False
    """Whether it is of each spatial axis by itself, so that its check needs their number."""
    selects_axes: bool = False
    """Whether values are axes of the first input."""
    declares_dtype: bool = False
    """Whether a value is a dtype that something is computed in."""
    schedule: bool = False
    """Whether a value is a function of the step."""
    kept: str = "mask"
    """Where values tell something of each weight, the function of `_core.trees` that makes one canonical."""
    of_each: str = "selected"
    """The function of `_core.trees` that tells what such a value means for each weight."""
    of_one: str = "bool"
    """Type of what it means for a weight."""
    mapped: bool = False
    """Whether a value names axes that a caller maps over."""
    opaque: bool = False
    """Whether nobody can know which values mean something: of an optional one, None alone is drawn."""
    narrower: tuple[tuple[float, str, str], ...] = ()
    """Values that other words do not take, of which the rest are the same: each with how the rest is called,
    and the word."""
    parts: tuple[Word, ...] = ()
    """Of a tuple of one value for each of several words: the words."""
    increment: int = 0
    """Of an increasing sequence: the difference between items in an example."""

    @property
    def check_module(self) -> str:
        """The module of a plugin that its check is in, or ""."""
        return self.check.rpartition(".")[0]

    @property
    def strategy_module(self) -> str:
        """The module of a plugin that what draws it in a test is in, or ""."""
        return self.strategy.partition("(")[0].rpartition(".")[0]

    @property
    def argument(self) -> str:
        """Type of the argument of `init`."""
        return self.types.partition(" -> ")[0]

    @property
    def canonical(self) -> str:
        """Type of the field of `hyperparams`."""
        return self.types.rpartition(" -> ")[2]

    @property
    def many(self) -> bool:
        """Whether a value is several layers or optimizers."""
        return self.attribute in ("layers", "optimizers")

    @property
    def returns(self) -> bool:
        """Whether values are layers whose output a block may return; that of a cell is a pair."""
        return self.attribute in ("layer", "layers") and not self.recurrent

    @property
    def structural(self) -> bool:
        """Whether values are initialized layers or optimizers rather than hyperparameters."""
        return self.many or self.attribute in ("layer", "optimizer")

    @property
    def initializes(self) -> bool:
        """Whether values are initializers: parameters of `init`, and no fields of `hyperparams`."""
        return self.attribute == "initializer"
