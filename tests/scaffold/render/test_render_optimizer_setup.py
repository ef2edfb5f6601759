"""A `setup` of an optimizer that declares no moment still says what weights it takes."""

from __future__ import annotations

import sys
from types import ModuleType

import jax.numpy as jnp
import pytest

from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render

PROJECT = Project("mlax", "specs", "mlax", "tests", "docs")
HEAD = '''from mlax_scaffold.spec import Optimizer, Scheduled, require, state, zeros


class Example(Optimizer):
    """A spec of a test."""

    learning_rate: Scheduled

    def setup(self, param):
        least = 1
        require(param.ndim >= least, "weights must have axes")
'''
STATE = """
    def setup_tree(self, params):
        self.calls = state(zeros, ())

    def prepare(self, grads, params):
        self.calls = self.calls + 1.0
"""
UPDATE = """
    def update(self, grad, param):
        return -self.learning_rate * grad
"""


@pytest.mark.parametrize("state", ["", STATE])
def test_it_is_run_for_each_weight(state: str):
    spec = SpecFile("specs/optim/example.py", "optim", f"{HEAD}{state}{UPDATE}")
    files = {f.path: f.text for f in render(read_library((spec,)), PROJECT)}
    made = ModuleType("example_without_moments")
    sys.modules[made.__name__] = made  # dataclasses look for it
    exec(files["mlax/optim/example.py"], vars(made))
    weights = {"w": jnp.ones((2, 3))}
    first, hyperparams = made.init(weights, 0.5)
    updates, _ = made.step(weights, first, weights, hyperparams)
    assert jnp.array_equal(updates["w"], -0.5 * weights["w"])
    with pytest.raises(ValueError, match="Example: weights must have axes"):
        made.init({**weights, "scalar": jnp.ones(())}, 0.5)


def test_it_refuses_no_tree_without_weights():
    moment = "\n        self.trace = moment(zeros, param.shape)\n"
    head = HEAD.replace("Scheduled, require", "Scheduled, moment, require")
    spec = SpecFile("specs/optim/example.py", "optim", f"{head}{moment}{UPDATE}")
    files = {f.path: f.text for f in render(read_library((spec,)), PROJECT)}
    made = ModuleType("example_with_a_moment")
    sys.modules[made.__name__] = made
    exec(files["mlax/optim/example.py"], vars(made))
    state, _ = made.init({}, 0.5)
    assert state.trace == {}
    with pytest.raises(ValueError, match="Example: weights must have axes"):
        made.init({"scalar": jnp.ones(())}, 0.5)
