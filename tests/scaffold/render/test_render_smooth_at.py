"""`smooth_at` says what tests draw: there gradients are compared with finite differences."""

from __future__ import annotations

import ast
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.tests import files as tests
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.layer_gradients import assert_gradients

PROJECT = Project("smooth", "specs", "smooth", "tests", "docs")
LAYER = '''
from mlax_scaffold.spec import Float, Int, Layer, ones, trainable


class Powers(Layer, smooth_at={"base": (0.5, 2.0), "exponent": (1, 3), "shift": (2.0, 3.0)}):
    """Powers of what is above zero."""

    def setup(self):
        self.exponent = trainable(ones, ())

    def forward(
        self, count: Int["..."], base: Float["..."], shift: Float["..."] | None = None
    ) -> Float["..."]:
        return base**self.exponent * count
'''
FUNCTION = '''
import jax.numpy as jnp

from mlax_scaffold.spec import Float, function


@function(smooth_at={"p": (0.1, 0.9)})
def log_odds(p: Float["..."]) -> Float["..."]:
    """log(p / (1 - p))."""
    return jnp.log(p) - jnp.log1p(-p)
'''


def ranges(path: str, text: str) -> dict[str, Any]:
    """What the generated test draws, by the place of an array."""
    section = path.split("/")[1]
    specs = (SpecFile(path, section, text),)
    library = read_library(specs, find_specs(LIBRARY_SPECS, "library"))
    definition = next(d for d in library if d.source == path)
    tree = ast.parse(tests.test_module(definition, library, PROJECT).text)
    [given] = [
        k.value
        for k in ast.walk(tree)
        if isinstance(k, ast.keyword) and k.arg == "ranges"
    ]
    assert isinstance(given, ast.Dict)
    pairs = zip(given.keys, given.values, strict=True)
    return {ast.literal_eval(k): ast.unparse(v) for k, v in pairs if k is not None}


def test_a_layer_draws_inputs_and_weights_there():
    found = ranges("specs/nn/powers.py", LAYER)
    assert found["x[1]"] == "(0.5, 2.0)"
    assert found["trainables.exponent"] == "(1.0, 3.0)"
    assert found["shift"] == "(2.0, 3.0)"
    assert found["x[0]"].startswith("(0, smallest(")


def test_a_function_draws_its_arrays_there():
    found = ranges("specs/functional/log_odds.py", FUNCTION)
    assert found == {"x[0]": "(0.1, 0.9)"}


def test_gradients_are_compared_there():
    def log_odds(p: Any) -> Any:
        return jnp.log(p) - jnp.log1p(-p)

    x = (jax.ShapeDtypeStruct((3, 4), jnp.float32),)
    case = Case.of_function(log_odds, x, {}, ranges={"x[0]": (0.1, 0.9)})
    drawn = np.asarray(case.arguments(jnp.float32).x[0])
    assert np.all((drawn >= 0.1) & (drawn < 0.9))
    assert_gradients(case)
    with pytest.raises(AssertionError, match=r"what it makes of x\[0\] is not finite"):
        assert_gradients(Case.of_function(log_odds, x, {}))
