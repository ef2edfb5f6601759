"""Values that a hyperparameter may not have are those that its word in the spec does not take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlax_scaffold.testing.invalid import assert_refuses_invalid
from mlax_scaffold.testing.oracle import Spec

LAYER = '''
"""A layer."""

from typing import Literal

from mlax_scaffold.spec import Float, Initializer, Layer, Positive, Size, ones, trainable


class Toy(Layer):
    """A layer."""

    features: Size
    mode: Literal["plain", "scaled"] | None = None
    scales: tuple[Positive, ...] = (1.0,)
    scale_init: Initializer = ones

    def setup(self):
        self.scale = trainable(self.scale_init, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x * self.scale
'''
FUNCTION = '''
"""A function."""

from mlax_scaffold.spec import Count, Float, function


@function
def toy(x: Float["*shape"], *, times: Count) -> Float["*shape"]:
    """Some times x."""
    return x * times
'''
BLOCK = '''
"""A block."""

from mlax_scaffold.spec import Block, Float, Size, SubLayer


class Toy(Block):
    """A block."""

    layer: SubLayer
    times: Size

    def forward(self, x: Float["*shape"]):
        return self.layer(x)
'''


@pytest.fixture
def spec(tmp_path: Path):
    def write(text: str) -> Spec:
        path = tmp_path / "toy.py"
        path.write_text(text, encoding="utf-8")
        return Spec(path, tmp_path)

    return write


def takes(name, asked, **values):
    """What refuses each hyperparameter whose value is not one of those, and keeps what it was asked."""

    def make(**given):
        for hyperparameter, value in given.items():
            if value not in values[hyperparameter]:
                asked.append((hyperparameter, value))
                raise ValueError(f"{name}: {hyperparameter} is {value!r}")

    return make


GOOD = {
    "features": (4,),
    "mode": ("plain", "scaled", None),
    "scales": ((1.0,),),
}


def test_each_word_says_what_it_does_not_take(spec):
    asked = []
    make = takes("Toy", asked, **GOOD)
    assert_refuses_invalid("Toy", spec(LAYER), make, {"features": 4})
    assert asked[:6] == [("features", v) for v in (0, -1, 2.5, "4", True, None)]
    assert asked[6:8] == [("mode", "no such choice"), ("mode", 1)]
    assert ("mode", None) not in asked
    assert ("scales", (-1.0,)) in asked
    assert ("scales", None) in asked
    assert {name for name, _ in asked} == GOOD.keys()


def test_the_keywords_of_a_function(spec):
    wrong = takes("toy", [], times=(0, 1, -1))
    with pytest.raises(AssertionError, match=re.escape("toy takes times=-1, expected")):
        assert_refuses_invalid("toy", spec(FUNCTION), wrong)
    assert_refuses_invalid("toy", spec(FUNCTION), takes("toy", [], times=(0, 1)))


def test_an_error_that_does_not_name_the_hyperparameter(spec):
    make = takes("Layer", [], **GOOD)
    with pytest.raises(AssertionError, match='does not say "Toy: features"'):
        assert_refuses_invalid("Toy", spec(LAYER), make, {"features": 4})


def test_of_what_is_made_of_others_nothing_is_said(spec):
    asked = []
    assert_refuses_invalid("Toy", spec(BLOCK), takes("Toy", asked))
    assert not asked
