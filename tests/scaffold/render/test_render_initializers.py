"""The words for initializers stand for values of the package."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlax_scaffold.model.import_time import OWN_INITIALIZERS
from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render

LINEAR = next(
    spec
    for spec in find_specs(LIBRARY_SPECS, "specs")
    if spec.path.endswith("nn/linear.py")
)
TEXT = '''from mlax_scaffold.spec import Float, Layer, Size, lecun_normal, trainable


class Linear(Layer):
    """Linear map of the last axis: y = x W."""

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output

    def setup(self):
        self.kernel = trainable(lecun_normal(), (self.in_features, self.out_features))

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        return x.dot(self.kernel)
'''
PROJECT = Project("mine", "specs", "mine", "tests", "docs")
OF_A_FAN = [name for name in OWN_INITIALIZERS if name.endswith(("normal", "uniform"))]


@pytest.mark.parametrize("word", sorted({*OF_A_FAN} - {"truncated_normal"}))
def test_a_word_is_imported_from_the_package(word: str):
    spec = replace(LINEAR, text=TEXT.replace("lecun_normal", word))
    files = {f.path: f.text for f in render(read_library((spec,)), PROJECT)}
    for path in ("mine/nn/linear.py", "mine/graph/nn/linear.py"):
        [line] = [t for t in files[path].split("\n") if "mine.initializers" in t]
        assert line.endswith(f" {word}")
        assert f"= {word}()" in files[path]
