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
PROJECT = Project("mine", "specs", "mine", "tests", "docs")
OF_A_FAN = [name for name in OWN_INITIALIZERS if name.endswith(("normal", "uniform"))]


@pytest.mark.parametrize("word", sorted({*OF_A_FAN} - {"truncated_normal"}))
def test_a_word_is_imported_from_the_package(word: str):
    spec = replace(LINEAR, text=LINEAR.text.replace("lecun_normal", word))
    files = {f.path: f.text for f in render(read_library((spec,)), PROJECT)}
    for path in ("mine/nn/linear.py", "mine/graph/nn/linear.py"):
        [line] = [t for t in files[path].split("\n") if "mine.initializers" in t]
        assert line.endswith(f" {word}")
        assert f"= {word}()" in files[path]
