"""Reference pages show the measured error of what can be widened, and of nothing else."""

from __future__ import annotations

import dataclasses

import pytest
from tests.library import library

from mlax_scaffold.model.definition import Definition, Reference
from mlax_scaffold.render.docs.accuracy import accumulates, accuracy


@pytest.fixture(scope="module")
def layer_norm() -> Definition:
    return library()[Reference("nn", "LayerNorm")]


def test_the_table_has_results_and_gradients_of_both_halves(layer_norm):
    paragraph, table = accuracy(layer_norm)
    assert "relative to that of the exact result" in paragraph
    header, _, *rows = table.split("\n")
    assert "`accum_dtype=None`" in header
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[:2] for row in cells] == [
        ["`float16`", "result"],
        ["`float16`", "gradient"],
        ["`bfloat16`", "result"],
        ["`bfloat16`", "gradient"],
    ]
    for row in cells:
        strict, wide = map(float, row[2:])
        assert 0.0 < wide < strict < 0.1


def test_specs_of_other_projects_have_no_figures(layer_norm):
    other = dataclasses.replace(layer_norm, source="specs/nn/layer_norm.py")
    assert not list(accuracy(other))


def test_what_cannot_be_widened_has_none():
    linear = library()[Reference("nn", "Linear")]
    assert not accumulates(linear)
    assert not list(accuracy(linear))


def test_optimizers_are_not_measured():
    kinds = {d.section for d in library() if accumulates(d)}
    assert kinds <= {"functional", "loss", "nn", "block"}
