"""The vocabulary of hyperparameters: what each word takes, and what code is generated for it.

A word knows four things: how a value is checked and made canonical (`check`, a function of the
generated `_core.checks`, whose error message it owns), the Hypothesis strategy that draws it
(`strategy`, a function of `mlax_scaffold.testing.strategies`), its types, and its line in the
documentation.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """One word of the vocabulary."""

    name: str
    takes: str
    """What a value may be, as the documentation says it."""
    check: str
    """The function of `_core.checks` that makes a value canonical."""
    argument: str
    """Type of the argument of `init`."""
    canonical: str
    """Type of the field of `hyperparams`."""
    strategy: str
    """Expression that draws a value in a test."""
    structural: bool = False
    """Whether values are initialized layers or optimizers rather than hyperparameters."""


def _word(name: str, takes: str, check: str, types: str, strategy: str) -> Word:
    argument, _, canonical = types.partition(" -> ")
    return Word(name, takes, check, argument, canonical or argument, strategy)


WORDS: dict[str, Word] = {
    word.name: word
    for word in (
        _word("Size", "an integer of at least 1", "size", "int", "sizes()"),
        _word("Count", "an integer of at least 0", "count", "int", "counts()"),
        _word("int", "an integer", "integer", "int", "integers()"),
        _word("bool", "True or False", "boolean", "bool", "booleans()"),
        _word("str", "a string", "string", "str", "names()"),
        _word("float", "a finite number", "number", "float", "finite_floats()"),
        _word(
            "Positive", "a finite number above 0", "positive", "float", "positives()"
        ),
        _word(
            "NonNegative",
            "a finite number of at least 0",
            "non_negative",
            "float",
            "non_negatives()",
        ),
        _word(
            "Probability",
            "a number from 0 to 1",
            "probability",
            "float",
            "probabilities()",
        ),
        _word(
            "Padding",
            '"SAME", "VALID", an integer, or for each axis an integer or a pair',
            "padding",
            "PaddingLike -> Padding",
            "paddings(spatial_dims)",
        ),
        _word(
            "Precision",
            "what `jax.lax` takes as precision",
            "precision",
            "PrecisionLike",
            "precisions()",
        ),
        _word(
            "DType",
            "a floating dtype",
            "dtype",
            "DTypeLike",
            "accum_dtypes()",
        ),
        _word(
            "Axis",
            "an axis or a sequence of axes",
            "axes",
            "int | Sequence[int] -> tuple[int, ...]",
            "axes()",
        ),
        _word(
            "Shape",
            "a sequence of integers of at least 0",
            "shape",
            "Sequence[int] -> tuple[int, ...]",
            "array_shapes()",
        ),
        _word(
            "Activation",
            "a hashable function of an array",
            "function",
            "Callable[..., jax.Array]",
            "activations()",
        ),
        _word(
            "Function",
            "a hashable function",
            "function",
            "Callable[..., Any]",
            "activations()",
        ),
        _word(
            "Scheduled",
            "a number, or a schedule: a hashable function of the step",
            "scheduled",
            "float | Callable[..., Any]",
            "learning_rates()",
        ),
        Word(
            "SubLayer",
            "an initialized layer `(trainables, non_trainables, hyperparams)`",
            "sub_layer",
            "InitializedLayer",
            "LayerHyperparams",
            "",
            structural=True,
        ),
        Word(
            "Cell",
            "an initialized recurrent cell: it maps (inputs, carry) to (outputs, carry)",
            "sub_layer",
            "InitializedLayer",
            "CellHyperparams",
            "",
            structural=True,
        ),
        Word(
            "Stacked",
            "initialized layers with stacked weights, as `jax.vmap` of `init` over keys "
            "returns them",
            "sub_layer",
            "InitializedLayer",
            "LayerHyperparams",
            "",
            structural=True,
        ),
        Word(
            "SubLayers",
            "a sequence of initialized layers",
            "sub_layers",
            "Sequence[InitializedLayer]",
            "tuple[LayerHyperparams, ...]",
            "",
            structural=True,
        ),
        Word(
            "SubOptimizers",
            "a sequence of initialized optimizers `(state, hyperparams)`",
            "sub_optimizers",
            "Sequence[InitializedOptimizer]",
            "tuple[OptimizerHyperparams, ...]",
            "",
            structural=True,
        ),
    )
}

PER_DIM_ELEMENTS = ("Size", "Count")


@dataclass(frozen=True)
class HyperType:
    """The type of a hyperparameter: a word with what qualifies it."""

    word: Word
    optional: bool = False
    choices: tuple[str, ...] = ()
    per_dim: bool = False

    @property
    def takes(self) -> str:
        """What a value may be, for the documentation."""
        takes = self.word.takes
        if self.choices:
            takes = "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.per_dim:
            takes += ", or a sequence of one for each spatial axis"
        return f"{takes}, or None" if self.optional else takes

    @property
    def argument(self) -> str:
        """Type annotation of the argument of `init`."""
        return self._annotate(self.word.argument, "{0} | Sequence[{0}]")

    @property
    def canonical(self) -> str:
        """Type annotation of the field of `hyperparams`."""
        return self._annotate(self.word.canonical, "tuple[{0}, ...]")

    def _annotate(self, base: str, per_dim: str) -> str:
        if self.choices:
            base = f"Literal[{', '.join(map(_quoted, self.choices))}]"
        if self.per_dim:
            base = per_dim.format(base)
        return f"{base} | None" if self.optional else base

    @property
    def strategy(self) -> str:
        """Expression that draws a value in a test."""
        base = self.word.strategy
        if self.choices:
            base = f"st.sampled_from([{', '.join(map(_quoted, self.choices))}])"
        if self.per_dim:
            base = f"per_dim({base}, spatial_dims)"
        return f"st.none() | {base}" if self.optional else base


def _quoted(text: str) -> str:
    # Double quotes are what the formatter would choose.
    return '"' + repr("'" + text)[2:-1].replace('"', '\\"') + '"'


def choice_type(choices: tuple[str, ...], optional: bool) -> HyperType:
    """The type of `Literal["a", "b"]`."""
    return HyperType(WORDS["str"], optional=optional, choices=choices)
