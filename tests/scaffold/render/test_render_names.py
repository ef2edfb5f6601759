"""Names of locals, and types of results, that a person leaves to the generator."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.model.project import Project
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render

PROJECT = Project("mlax", "specs", "mlax", "tests", "docs")
NAMES = sorted(RESERVED - {"self"})
HEAD = """from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


class Example(Layer):
    \"""A spec of a test.\"""

    features: Size

"""


def test_every_reserved_name_may_be_a_local():
    lines = ["    def setup(self):"]
    lines += [f"        {name} = self.features + {i}" for i, name in enumerate(NAMES)]
    lines += [f"        self.{name}_size = {name}" for name in NAMES]
    lines += ["        self.weight = trainable(ones, (self.features,))", ""]
    lines += [
        '    def forward(self, x: Float["... features"]) -> Float["... features"]:'
    ]
    lines += [f"        {name} = x * self.{name}_size" for name in NAMES]
    lines += [f"        return ({' + '.join(NAMES)}) * self.weight", ""]
    text = HEAD + "\n".join(lines)
    library = read_library((SpecFile("specs/nn/example.py", "nn", text),))
    files = {f.path: f.text for f in render(library, PROJECT)}
    made = ModuleType("named_example")
    sys.modules[made.__name__] = made  # dataclasses look for it
    exec(files["mlax/nn/example.py"], vars(made))
    trees = made.init(jax.random.key(0), features=2)
    y, _ = made.fwd(jnp.ones((3, 2)), *trees)
    n = len(NAMES)
    assert (y == 2 * n + n * (n - 1) // 2).all()


def test_a_result_without_a_type_is_any_tree():
    body = "    def forward(self, x: Float['... features']):\n        return x, x\n"
    library = read_library((SpecFile("specs/nn/example.py", "nn", HEAD + body),))
    [definition] = (d for d in library if d.name == "Example")
    assert str(definition.methods[0].returns) == "PyTree"


def test_fields_may_be_called_like_what_generated_tests_use():
    names = ["array", "count", "inputs", "known", "patterns", "shapes", "sizes"]
    fields = "\n".join(f"    {name}: Size" for name in [*names, "max_size", "given"])
    body = """
    def forward(self, x: Float["known shapes"], inputs: Float["max_size"] | None = None):
        return x * self.patterns
"""
    text = HEAD + fields + "\n" + body
    library = read_library((SpecFile("specs/nn/example.py", "nn", text),))
    files = {f.path: f.text for f in render(library, PROJECT)}
    layer = ModuleType("tested_example")
    sys.modules[layer.__name__] = layer
    exec(files["mlax/nn/example.py"], vars(layer))
    test = files["tests/nn/test_nn_example.py"]
    test = test.replace("from mlax.nn import example as Example\n", "")
    # Neither the spec nor the module class is anywhere.
    test = re.sub(r"SPEC = find_spec\(.*?\)\n", "SPEC = None\n", test, flags=re.DOTALL)
    test = test.replace("graph.Example", "graph.Identity")
    made: dict[str, Any] = {"Example": layer}
    exec(test, made)
    situations = [situation for situation, _ in made["cases"].covering]
    assert any(situation.case.inputs for situation in situations)
    for situation in situations:
        sizes = situation.arguments.hyperparams
        assert situation.case.x.shape == (sizes.known, sizes.shapes)
