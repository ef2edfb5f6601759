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
    example: str = ""
    """Expression of a value that the word takes."""
    invalid: tuple[str, ...] = ()
    """Expressions of values that it does not take."""


_VALUES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Size": ("4", ("0", "-1", "2.5", '"4"', "True")),
    "Sizes": ("(8, 4)", ("(0,)", "2.5", '"84"')),
    "Count": ("1", ("-1", "2.5", '"1"')),
    "int": ("1", ("2.5", '"1"')),
    "bool": ("True", ("1", '"yes"')),
    "str": ('"name"', ("1",)),
    "float": ("0.5", ('"0.5"', 'float("nan")', 'float("inf")')),
    "Positive": ("0.5", ("0.0", "-1.0", 'float("inf")', '"1"')),
    "NonNegative": ("0.5", ("-1.0", 'float("nan")', '"1"')),
    "Probability": ("0.5", ("-0.1", "1.1", 'float("nan")', '"1"')),
    "Fraction": ("0.5", ("0.0", "1.5", 'float("nan")', '"1"')),
    "Decay": ("0.5", ("-0.1", "1.0", 'float("nan")', '"1"')),
    "Boundaries": ("(2, 4)", ("(2, 2)", "(4, 2)", "(0, 2)", "2", '"24"')),
    "SubSchedule": ("jnp.sqrt", ("0.1", "[]")),
    "Padding": ('"SAME"', ('"same size"', "-1", "1.5")),
    "Precision": ('"highest"', ('"exact"',)),
    "DType": ('"float32"', ('"int32"', '"no dtype"')),
    "Axis": ("-1", ("1.5", '"x"', "(0, 0)")),
    "AxisName": ('"devices"', ("1", '("devices", 1)', "()")),
    "Shape": ("(2, 3)", ("(-1,)", "2.5", '"23"')),
    "NewShape": ("(1, -1)", ("(-1, -1)", "(-2,)", "2.5")),
    "Activation": ("jax.nn.relu", ("1", "[]")),
    "Function": ("jax.nn.relu", ("1", "[]")),
    "Policy": ("jax.checkpoint_policies.dots_saveable", ("1", "[]")),
    "Mask": ('lambda path, weight: "bias" not in path', ("1", "[]")),
    "Scheduled": ("0.1", ('"0.1"', 'float("nan")', "None")),
}
"""For each word a value that it takes, and values that it does not take."""


def _word(name: str, takes: str, check: str, types: str, strategy: str) -> Word:
    argument, _, canonical = types.partition(" -> ")
    example, invalid = _VALUES[name]
    return Word(
        name,
        takes,
        check,
        argument,
        canonical or argument,
        strategy,
        example=example,
        invalid=invalid,
    )


WORDS: dict[str, Word] = {
    word.name: word
    for word in (
        _word("Size", "an integer of at least 1", "size", "int", "sizes()"),
        _word("Count", "an integer of at least 0", "count", "int", "counts()"),
        _word(
            "Sizes",
            "a sequence of integers of at least 1",
            "sizes",
            "Sequence[int] -> tuple[int, ...]",
            "size_sequences()",
        ),
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
            "Fraction",
            "a number above 0, at most 1",
            "fraction",
            "float",
            "fractions()",
        ),
        _word(
            "Decay",
            "a number of at least 0, below 1",
            "decay",
            "float",
            "decays()",
        ),
        _word(
            "Boundaries",
            "an increasing sequence of integers of at least 1",
            "boundaries",
            "Sequence[int] -> tuple[int, ...]",
            "boundaries_between()",
        ),
        _word(
            "Padding",
            '"SAME", "SAME_LOWER", "VALID", "CAUSAL", an integer, or for each axis an '
            "integer or a pair",
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
            "axes(rank)",
        ),
        _word(
            "AxisName",
            "the name of a mapped axis, or a sequence of names",
            "axis_name",
            "str | Sequence[str] -> str | tuple[str, ...]",
            "axis_names()",
        ),
        _word(
            "Shape",
            "a sequence of integers of at least 0",
            "shape",
            "Sequence[int] -> tuple[int, ...]",
            "array_shapes()",
        ),
        _word(
            "NewShape",
            "a sequence of integers of at least 0, one of which may be -1",
            "new_shape",
            "Sequence[int] -> tuple[int, ...]",
            "new_shapes()",
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
            "functions()",
        ),
        _word(
            "Policy",
            "a hashable policy, as in `jax.checkpoint_policies`",
            "function",
            "Callable[..., Any]",
            "policies()",
        ),
        _word(
            "Scheduled",
            "a number, or a schedule: a hashable function of the step",
            "scheduled",
            "float | Callable[..., Any]",
            "scheduled()",
        ),
        _word(
            "SubSchedule",
            "a schedule: a hashable function of the step",
            "schedule",
            "Callable[..., Any]",
            "step_functions()",
        ),
        Word(
            "Initializer",
            "an initializer, called `initializer(key, shape, dtype)`",
            "",
            "arrays.Initializer",
            "",
            "",
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
            "cell",
            "InitializedLayer",
            "CellHyperparams",
            "",
            structural=True,
        ),
        Word(
            "Stacked",
            "initialized layers with stacked weights, as `jax.vmap` of `init` over keys "
            "returns them",
            "stacked",
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
        _word(
            "Mask",
            "a hashable function of a weight's path (such as 'layers/0/kernel') and the "
            "weight, which tells whether it is selected",
            "function",
            "Callable[[str, Any], bool]",
            "masks()",
        ),
        Word(
            "SubOptimizer",
            "an initialized optimizer `(state, hyperparams)`",
            "sub_optimizer",
            "InitializedOptimizer",
            "OptimizerHyperparams",
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
