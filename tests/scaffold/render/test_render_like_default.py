"""A `float` or an `int` of a project of one's own is tried at numbers like its default."""

from __future__ import annotations

import dataclasses

import pytest

from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.tests import files as tests

PROJECT = Project("own", "specs", "own", "tests", "docs")
SPEC = '''
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Positive, Size, Sizes, function


@function
def scaled(x: Float["..."], *, factor: {field}) -> Float["..."]:
    """x times a number."""
    return x if factor is None else x * jnp.asarray(factor, x.dtype)
'''


def drawn(field: str, project: Project = PROJECT, *, spec: bool = False) -> str:
    """What the generated test draws the field from; `spec` says that it is the whole spec."""
    text = field if spec else SPEC.format(field=field)
    own = (SpecFile("specs/functional/scaled.py", "functional", text),)
    library = read_library(own)
    [definition] = library
    text = tests.test_module(definition, library, project).text
    [line] = [n for n in text.splitlines() if 'pick("factor", ' in n]
    return line.partition('pick("factor", ')[2].removesuffix(")")


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("float", "positives()"),
        ("float = 0.999", "open_fractions()"),
        ("float = 1e-8", "open_fractions()"),
        ("float = 2.0", "positives()"),
        ("float = 0.0", "decays()"),
        ("float = -1.0", "finite_floats(max=-0.0625)"),
        ("float | None = None", "optional(positives())"),
        ("int", "sizes(max=4)"),
        ("int = 8", "sizes(max=4)"),
        ("int = 0", "integers()"),
        ("int = -100", "integers()"),
        ("int | None = None", "optional(sizes(max=4))"),
        ("Positive = 0.5", "positives()"),
        ("tuple[int, float]", "rows(sizes(max=4), positives())"),
        ("tuple[int, float] = (-1, 0.5)", "rows(integers(), open_fractions())"),
        (
            "tuple[tuple[int, str], ...] = ((1, 'a'), (2, 'b'))",
            'sequences(rows(sizes(max=4), choices("a", "b")), min_size=2)',
        ),
        (
            "tuple[tuple[Size, float], ...] | None = None",
            "optional(sequences(rows(sizes(), positives())))",
        ),
        ("tuple[float, ...] = (0.9, 0.999)", "sequences(open_fractions(), min_size=2)"),
        ("tuple[float, ...] = (1e-30, 1.0)", "sequences(positives(), min_size=2)"),
        ("tuple[float, ...] = (0.0, 0.5)", "sequences(decays(), min_size=2)"),
        ("tuple[float, ...] = (-1.0, 0.5)", "sequences(finite_floats(), min_size=2)"),
        ("tuple[float, ...] = (0.5,)", "sequences(open_fractions())"),
        ("tuple[float, ...]", "sequences(finite_floats())"),
        ("tuple[int, ...]", "sequences(sizes(max=4))"),
        ("tuple[int, ...] = (3, 4)", "sequences(sizes(max=4), min_size=2)"),
        ("tuple[int, ...] = (-1, 1)", "sequences(integers(), min_size=2)"),
    ],
)
def test_numbers_like_the_default(field: str, expected: str):
    assert drawn(field) == expected


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("Sizes", "size_sequences(min_size=1)"),
        ("Sizes = (3,)", "size_sequences(min_size=1)"),
        ("Sizes = (8, 5)", "size_sequences(min_size=2)"),
        ("Sizes = ()", "size_sequences()"),
    ],
)
def test_as_many_sizes_as_the_default_has(field: str, expected: str):
    assert drawn(field) == expected


def test_where_requirements_are_stated_a_float_is_any():
    stated = dataclasses.replace(PROJECT, state_requirements=True)
    assert drawn("float = 0.999", stated) == "finite_floats()"


AXIS = '''
from mlax_scaffold.spec import Float, function


@function
def scaled(x: Float["..."], y: Float["n factor"], *, factor: {field}) -> Float["..."]:
    """x."""
    return x
'''


@pytest.mark.parametrize(
    ("field", "expected"),
    [("int = 0", "counts()"), ("int = 8", "sizes(max=4)")],
)
def test_the_size_of_an_axis_is_not_negative(field: str, expected: str):
    assert drawn(AXIS.format(field=field), spec=True) == expected


CHOSEN = '''
from mlax_scaffold.spec import Float, function

MODES = ("mean", "max")


@function
def scaled(x: Float["..."], *, factor: {field}) -> Float["..."]:
    """x, in a way."""
    {code}
    return x
'''


@pytest.mark.parametrize(
    ("field", "code", "expected"),
    [
        ('str = "a"', "", 'choices("a")'),
        ("str", "", "names()"),
        ('str = "a"', 'x = x if factor == "b" else -x', 'choices("a", "b")'),
        ("str", 'x = {"b": x, "c": -x}[factor]', 'choices("b", "c")'),
        ("str", "x = x if factor in MODES else -x", 'choices("mean", "max")'),
        ("str | None = None", "", "nothing()"),
        (
            "str | None = None",
            'x = x if "b" != factor else -x',
            'optional(choices("b"))',
        ),
        ("tuple[str, ...]", 'x = x if "b" in factor else -x', "sequences(names())"),
        (
            'tuple[str, ...] = ("a",)',
            'for f in factor: x = x if f == "b" else -x',
            'sequences(choices("a", "b"))',
        ),
        (
            "tuple[str, ...]",
            'x = [{"b": x}[f] for i, f in enumerate(factor)][0]',
            'sequences(choices("b"))',
        ),
        ('tuple[str, ...] = ("a", "b")', "", 'choices(("a", "b",))'),
        (
            'tuple[str, ...] = ("a", "c")',
            'x = {"b": x}[factor[0]] if [f for f in factor if f == "b"] else x',
            'sequences(choices("a", "c", "b"), min_size=2)',
        ),
    ],
)
def test_a_text_is_one_that_the_code_compares_it_with(
    field: str, code: str, expected: str
):
    text = CHOSEN.replace("{field}", field).replace("{code}", code or "x = x + 0")
    assert drawn(text, spec=True) == expected


OPTIMIZER = '''
from mlax_scaffold.spec import Optimizer, Probability, Sizes


class Averaged(Optimizer):
    """A spec of a test."""

    betas: tuple[Probability, ...] = (0.9, 0.99)

    def update(self, grad, param):
        {taken} = self.betas
        return -grad * first
'''


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ("first, second", "sequences(probabilities(), min_size=2, max_size=2)"),
        ("first, b, c", "sequences(probabilities(), min_size=3, max_size=3)"),
        (
            "first = self.betas[2]; others",
            "sequences(probabilities(), min_size=3, max_size=3)",
        ),
        ("first = self.betas[1]; others", "sequences(probabilities(), min_size=2)"),
        ("first, *others", "sequences(probabilities(), min_size=2)"),
        ("all_ = first", "sequences(probabilities(), min_size=2)"),
    ],
)
def test_a_sequence_that_is_taken_apart_has_as_many_elements(taken: str, expected: str):
    text = OPTIMIZER.format(taken=taken)
    library = read_library((SpecFile("specs/optim/averaged.py", "optim", text),))
    [definition] = library
    found = tests.test_module(definition, library, PROJECT).text
    assert f'pick("betas", {expected})' in found


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ("first, second, third", "sequences(sizes(max=4), min_size=3, max_size=3)"),
        (
            "first = self.sizes[3]; all_",
            "sequences(sizes(max=4), min_size=4, max_size=4)",
        ),
        ("first, second", "size_sequences(min_size=2)"),
    ],
)
def test_sizes_that_are_taken_apart_are_as_many(taken: str, expected: str):
    text = OPTIMIZER.replace("betas", "sizes").format(taken=taken)
    text = text.replace("tuple[Probability, ...] = (0.9, 0.99)", "Sizes = (1, 2, 3, 4)")
    library = read_library((SpecFile("specs/optim/averaged.py", "optim", text),))
    [definition] = library
    found = tests.test_module(definition, library, PROJECT).text
    assert f'pick("sizes", {expected})' in found
