"""Entry points of module classes that take other inputs than a call does."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start

import mlax.graph as bx
import mlax.graph.nn
import mlax.nn
from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import draft
from mlax_scaffold.render.formatting import format_python

SPEC = '''
from mlax_scaffold.spec import Float, Layer, Size, ones, sum, trainable


class Scored(Layer):
    """Scores of pairs."""

    features: Size  #: size of the last axis
    classes: Size  #: size of the scores

    def setup(self):
        self.kernel = trainable(ones, (self.features, self.classes))

    def forward(self, x: Float["*batch features"], y: Float["*batch classes"]) -> Float["*batch"]:
        return sum(x @ self.kernel * y, axis=-1)

    def scores(self, x: Float["*batch features"]) -> Float["*batch classes"]:
        return x @ self.kernel

    def rows(self, y: Float["*batch classes"]) -> Float["*batch features"]:
        return y @ self.kernel.T

    def back(self, y: Float["batch classes"], x: Float["features batch"]) -> Float["batch batch"]:
        return y @ self.kernel.T @ x
'''


@pytest.fixture(scope="module")
def scored() -> Any:
    """The module class of the spec, as if it were part of the library."""
    project = Project("mlax", "specs", "mlax", "tests", "docs")
    own = (SpecFile("specs/nn/scored.py", "nn", SPEC),)
    library = read_library(own, find_specs(LIBRARY_SPECS, "library"))
    [definition] = [d for d in library if d.source == own[0].path]
    made = draft(definition, library, project)
    files = {f.path: f for f in format_python(made.files, project.package)}
    made.check(files)
    names = ["mlax.nn.scored", "mlax.graph.nn.scored"]
    for name, section in zip(names, (mlax.nn, mlax.graph.nn), strict=True):
        sys.modules[name] = ModuleType(name)  # dataclasses look for it
        setattr(section, definition.module, sys.modules[name])
        exec(files[f"{name.replace('.', '/')}.py"].text, vars(sys.modules[name]))
    yield sys.modules[names[1]].Scored
    for name, section in zip(names, (mlax.nn, mlax.graph.nn), strict=True):
        delattr(section, definition.module)
        del sys.modules[name]


X, Y = jnp.ones((2, 3)), jnp.ones((2, 4))


def test_each_takes_sizes_from_its_own_inputs(scored: Any):
    for first in (
        lambda module, params: module(params, X, Y),
        lambda module, params: module.scores(params, X),
        lambda module, params: module.back(params, Y, X.T),
    ):
        graph, rng, params = start()
        module = scored(graph.child("scored"), 4, rng=rng)
        _, params = first(module, params)
        [kernel] = bx.params_to_pair(module, params)[0]
        assert kernel.shape == (3, 4)
        y, _ = module.rows(params.locked(), Y)
        np.testing.assert_array_equal(y, jnp.full((2, 3), 4.0))


def test_what_its_inputs_do_not_say_is_given_or_known(scored: Any):
    graph, rng, params = start()
    module = scored(graph.child("scored"), 4, rng=rng)
    with pytest.raises(
        ValueError, match=r"learns features from its first .* or pass features=\.\.\."
    ):
        module.rows(params, Y)
    given = scored(graph.child("given"), 4, features=3, rng=rng)
    y, params = given.rows(params, Y)
    [kernel] = bx.params_to_pair(given, params)[0]
    assert (y.shape, kernel.shape) == ((2, 3), (3, 4))
