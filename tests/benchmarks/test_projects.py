"""Projects that benchmarks measure on."""

from pathlib import Path

import pytest
from tests.benchmarks import projects

from mlax_scaffold.reader.files import LIBRARY_SPECS

LAYERS = sorted((LIBRARY_SPECS / "nn").glob("*.py"))


@pytest.mark.parametrize("place", LAYERS, ids=lambda place: place.stem)
def test_every_layer_has_a_copy_under_another_name(place: Path):
    text = place.read_text(encoding="utf-8")
    name, copy = projects.renamed(text, 7)
    assert name.endswith("0007")
    assert f"class {name}(" in copy
    assert copy.count("\n") == text.count("\n")
