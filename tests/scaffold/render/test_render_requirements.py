"""An `if` that raises a ValueError is a requirement, as `require` is."""

from __future__ import annotations

import sys
from types import ModuleType

import jax
import jax.numpy as jnp
import pytest

from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render

PROJECT = Project("mlax", "specs", "mlax", "tests", "docs")
LAYER = """from mlax_scaffold.spec import Float, Layer, Size, trainable, zeros


class Example(Layer):
    \"""A spec of a test.\"""

    features: Size
    heads: Size = 1

    def setup(self):
        if self.features % self.heads != 0:
            raise ValueError(f"{self.features} features, {self.heads} do not divide them")
        elif self.heads > 8:
            raise ValueError("at most 8 heads")
        self.bias = trainable(zeros, (self.features,))

    def forward(self, x: Float["... features"]) -> Float["... features"]:
        if x.ndim > 3:
            raise ValueError("at most 3 axes")
        return x + self.bias
"""


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    library = read_library((SpecFile("specs/nn/example.py", "nn", LAYER),))
    made = render(library, PROJECT)
    return {f.path: f.text for f in made if f.source == "specs/nn/example.py"}


@pytest.fixture(scope="module")
def layer(files) -> ModuleType:
    made = ModuleType("required_example")
    sys.modules[made.__name__] = made  # dataclasses look for it
    exec(files["mlax/nn/example.py"], vars(made))
    return made


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"features": 4, "heads": 3}, "Example: 4 features, 3 do not divide them"),
        ({"features": 9, "heads": 9}, "Example: at most 8 heads; got heads=9"),
    ],
)
def test_init_raises_with_the_message(layer, values, message):
    with pytest.raises(ValueError, match=message):
        layer.init(jax.random.key(0), **values)


def test_fwd_raises_with_the_message(layer):
    trees = layer.init(jax.random.key(0), features=4, heads=2)
    assert layer.fwd(jnp.ones((2, 4)), *trees)[0].shape == (2, 4)
    with pytest.raises(ValueError, match="Example: at most 3 axes; got x="):
        layer.fwd(jnp.ones((2, 2, 2, 4)), *trees)


def test_they_are_documented(files):
    page = files["docs/nn/example.md"]
    assert "`features % heads != 0`" in page
    assert "... features, ... do not divide them" in page
    assert "`features % heads == 0 and heads > 8`" in page
    assert "`x.ndim > 3`" in page


def test_drawn_values_that_do_not_fit_are_drawn_again(files):
    tests = files["tests/nn/test_nn_example.py"]
    for told in (" do not divide them", "at most 8 heads", "at most 3 axes"):
        assert f'{told}"' in tests
