"""Projects that benchmarks measure on."""

import pytest
from tests.benchmarks import projects

LAYERS = projects.layers()


@pytest.mark.parametrize("layer", LAYERS)
def test_every_layer_has_a_copy_under_another_name(layer: str):
    name, copy = projects.renamed(LAYERS[layer], 7)
    assert name.endswith("0007")
    assert f"class {name}(" in copy
    assert copy.replace(name, name[:-4]) == LAYERS[layer]


def test_headers_over_several_lines_are_layers():
    assert "batch_norm" in LAYERS
