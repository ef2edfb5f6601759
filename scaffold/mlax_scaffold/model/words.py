"""The vocabulary of hyperparameters: one row for each word, with all that is known of it.

A row says how a value is checked and made canonical (a function of the generated `_core.checks`, which
eager specs call, too), what code and pages say of it, how tests draw it, and what it can do. Nothing
elsewhere asks a word for its name, so a new word is a row here, and a line of `docs/spec-language.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mlax_scaffold.model.parts import PARTS
from mlax_scaffold.model.word import Range, Word

__all__ = ["WORDS", "Word", "vocabulary"]

_NAN, _INF = float("nan"), float("inf")
_FUNCTION = "Callable[..., Any]"

_NUMBERS = (
    Word(
        "Size",
        "an integer of at least 1",
        "size",
        "int",
        "sizes()",
        "4",
        (0, -1, 2.5, "4", True),
        measured=True,
        names="axis",
        per_dim=True,
        element=False,
        range=Range(1, whole=True),
    ),
    Word(
        "Count",
        "an integer of at least 0",
        "count",
        "int",
        "counts()",
        "1",
        (-1, 2.5, "1"),
        names="axis",
        per_dim=True,
        range=Range(0, whole=True),
    ),
    Word(
        "Sizes",
        "a sequence of integers of at least 1",
        "sizes",
        "Sequence[int] -> tuple[int, ...]",
        "size_sequences()",
        "(8, 4)",
        ((0,), 2.5, "84"),
        shown_in_schedule="(80, 80)",
        names="axes",
        element=False,
        range=Range(1, whole=True),
    ),
    Word(
        "int",
        "an integer",
        "integer",
        "int",
        "integers()",
        "1",
        (2.5, "1"),
        names="axis",
        range=Range(whole=True),
    ),
    Word(
        "bool",
        "True or False",
        "boolean",
        "bool",
        "booleans()",
        "True",
        (1, "yes"),
        names="switch",
    ),
    Word("str", "a string", "string", "str", "names()", '"name"', (1,), opaque=True),
    Word(
        "float",
        "a finite number",
        "number",
        "float",
        "finite_floats()",
        "0.5",
        ("0.5", _NAN, _INF),
        range=Range(),
    ),
    Word(
        "Extended",
        "a number, or an infinite one",
        "extended",
        "float",
        "finite_floats()",
        "0.5",
        ("0.5", _NAN, True),
        range=Range(infinite=True),
    ),
    Word(
        "Positive",
        "a finite number above 0",
        "positive",
        "float",
        "positives()",
        "0.5",
        (0.0, -1.0, _INF, "1"),
        range=Range(0, above=True),
    ),
    Word(
        "NonNegative",
        "a finite number of at least 0",
        "non_negative",
        "float",
        "non_negatives()",
        "0.5",
        (-1.0, _NAN, "1"),
        range=Range(0),
    ),
    Word(
        "Probability",
        "a number from 0 to 1",
        "probability",
        "float",
        "probabilities()",
        "0.5",
        (-0.1, 1.1, _NAN, "1"),
        shown="0.1",
        narrower=((0.0, "above 0", "Fraction"), (1.0, "below 1", "Decay")),
        range=Range(0, 1),
    ),
    Word(
        "Fraction",
        "a number above 0, at most 1",
        "fraction",
        "float",
        "fractions()",
        "0.5",
        (0.0, 1.5, _NAN, "1"),
        range=Range(0, 1, above=True),
    ),
    Word(
        "Decay",
        "a number of at least 0, below 1",
        "decay",
        "float",
        "decays()",
        "0.5",
        (-0.1, 1.0, _NAN, "1"),
        range=Range(0, 1, below=True),
    ),
    Word(
        "Boundaries",
        "an increasing sequence of integers of at least 1",
        "boundaries",
        "Sequence[int] -> tuple[int, ...]",
        "boundaries_between()",
        "(2, 4)",
        ((2, 2), (4, 2), (0, 2), 2, "24"),
        shown_in_schedule="(40, 80)",
        element=False,
        increment=40,
        range=Range(1, whole=True),
    ),
)

_SETTINGS = (
    Word(
        "Padding",
        '"SAME", "SAME_LOWER", "VALID", "CAUSAL", an integer, or for each axis an '
        "integer or a pair",
        "padding",
        "PaddingLike -> Padding",
        "paddings(spatial_dims)",
        '"SAME"',
        ("same size", -1, 1.5),
        element=False,
        per_axis=True,
    ),
    Word(
        "Precision",
        "what `jax.lax` takes as precision",
        "precision",
        "PrecisionLike",
        "precisions()",
        '"highest"',
        ("exact",),
    ),
    Word(
        "DType",
        "a floating dtype",
        "dtype",
        "DTypeLike",
        "accum_dtypes()",
        '"float32"',
        ("int32", "no dtype"),
        declares_dtype=True,
    ),
    Word(
        "Axis",
        "an axis or a sequence of axes",
        "axes",
        "int | Sequence[int] -> tuple[int, ...]",
        "axes(rank)",
        "-1",
        (1.5, "x", (0, 0)),
        selects_axes=True,
    ),
    Word(
        "AxisName",
        "the name of a mapped axis, or a sequence of names",
        "axis_name",
        "str | Sequence[str] -> str | tuple[str, ...]",
        "axis_names()",
        '"devices"',
        (1, ("devices", 1), ()),
        mapped=True,
    ),
    Word(
        "Shape",
        "a sequence of integers of at least 0",
        "shape",
        "Sequence[int] -> tuple[int, ...]",
        "array_shapes()",
        "(2, 3)",
        ((-1,), 2.5, "23"),
        names="axes",
        range=Range(0, whole=True),
    ),
    Word(
        "NewShape",
        "a sequence of integers of at least 0, one of which may be -1",
        "new_shape",
        "Sequence[int] -> tuple[int, ...]",
        "new_shapes()",
        "(1, -1)",
        ((-1, -1), (-2,), 2.5),
    ),
)

_FUNCTIONS = (
    Word(
        "Activation",
        "a hashable function of an array",
        "function",
        "Callable[..., jax.Array]",
        "activations()",
        "jax.nn.relu",
        (1, []),
    ),
    Word(
        "Function",
        "a hashable function",
        "function",
        _FUNCTION,
        "functions()",
        "jax.nn.relu",
        (1, []),
    ),
    Word(
        "DotGeneral",
        "a hashable function that is called as `jax.lax.dot_general`",
        "function",
        _FUNCTION,
        "dot_generals()",
        "jax.lax.dot_general",
        (1, []),
    ),
    Word(
        "ConvGeneralDilated",
        "a hashable function that is called as `jax.lax.conv_general_dilated`",
        "function",
        _FUNCTION,
        "convolutions()",
        "jax.lax.conv_general_dilated",
        (1, []),
    ),
    Word(
        "Reduction",
        "a hashable, associative function of two arrays",
        "function",
        _FUNCTION,
        "reductions()",
        "jax.lax.add",
        (1, []),
    ),
    Word(
        "Policy",
        "a hashable policy, as in `jax.checkpoint_policies`",
        "function",
        _FUNCTION,
        "policies()",
        "jax.checkpoint_policies.dots_saveable",
        (1, []),
    ),
    Word(
        "Scheduled",
        "a number, or a schedule: a hashable function of the step",
        "scheduled",
        f"float | {_FUNCTION}",
        "scheduled()",
        "0.1",
        ("0.1", _NAN, None),
        attribute="scheduled",
        element=False,
        spellings=("LearningRate", "ScalarOrSchedule", "ScheduleLike"),
    ),
    Word(
        "SubSchedule",
        "a schedule: a hashable function of the step",
        "schedule",
        _FUNCTION,
        "step_functions()",
        "jnp.sqrt",
        (0.1, []),
        schedule=True,
    ),
    Word(
        "Initializer",
        "an initializer, called `initializer(key, shape, dtype)`",
        "",
        "arrays.Initializer",
        attribute="initializer",
        home="nn",
    ),
)

WORDS: dict[str, Word] = {
    word.name: word for word in (*_NUMBERS, *_SETTINGS, *_FUNCTIONS, *PARTS)
}
"""Every word, by its name; those of plugins only within `vocabulary`."""


@contextmanager
def vocabulary(words: Iterable[Word]) -> Iterator[None]:
    """Have these words, too, while the specs of a project that names their plugins are read."""
    before = dict(WORDS)
    WORDS.update({word.name: word for word in words})
    try:
        yield
    finally:
        WORDS.clear()
        WORDS.update(before)
