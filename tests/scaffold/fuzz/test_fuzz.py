"""Whatever a spec says: its faults are told at their lines, or what it becomes imports and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fuzz_hostile import EXPRESSIONS
from fuzz_imports import imported
from fuzz_pipeline import make
from fuzz_run import fuzz, specs

from mlax_scaffold.reader.files import SpecFile


def test_three_hundred_specs():
    report = fuzz(specs(300, seed=9))
    assert not report.failures, "\n\n".join(map(str, report.failures[:3]))
    assert report.refused > 100
    assert report.rendered > 30


def judged(expressions: Sequence[str]) -> list[str]:
    """What the judges say of modules with these as defaults."""
    start = "import functools, math, typing\nimport jax\nfrom jax.nn.initializers import *\n"
    return imported(
        [
            [(f"m{i}", f"m{i}.py", f"{start}def f(x={text}): pass\n", "specs/m.py")]
            for i, text in enumerate(expressions)
        ]
    )


RUN = [
    "exec('tripwire')",
    "eval('0')",
    "open('/dev/null')",
    "__import__('os').getcwd()",
    "functools.reduce(open, ['/dev/null', 'r'])",
    "typing.sys.modules['os'].system('true')",
    "math.factorial(3)",
    "jax.tree.map(len, ['x'])",
    "jax.random.key(0)",
    "().__class__.__base__.__subclasses__()",
    "(lambda: 1)()",
    "[len('x') for _ in (1,)]",
    "print('tripwire')",
    "10 ** 10 ** 9",
]
HARMLESS = ["1", "2 * math.pi", "math.sqrt(2.0)", "zeros", "lecun_normal(1)", "len"]


def test_the_judges_see_what_runs():
    """Without the generator: a module that runs something is seen to do so."""
    found = judged([*HARMLESS, *RUN])
    assert found[: len(HARMLESS)] == [""] * len(HARMLESS)
    for text, what in zip(RUN, found[len(HARMLESS) :], strict=True):
        assert what, text


SPEC = '''import functools
import math
import typing

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Function, Initializer, Layer, Literal, Sizes
from mlax_scaffold.spec import constant, lecun_normal, per_gate, variance_scaling


class Example(Layer):
    """A spec of a test."""

    function: Function = {}  #: a function
    a_initializer: Initializer = {}  #: an initializer

    def helper(self, a: {} = None) -> {}:
        return a

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x
'''
CALLS = [text for text in EXPRESSIONS if "tripwire" in text]


@pytest.mark.parametrize("place", range(4))
def test_what_runs_is_refused_in_every_place(place: int):
    for text in CALLS:
        given = ["None", "lecun_normal()", "int", "int"]
        given[place] = text
        file = SpecFile("specs/nn/example.py", "nn", SPEC.format(*given))
        assert make(file) is None, text
