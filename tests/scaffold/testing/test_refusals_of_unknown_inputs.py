"""A block refuses the keyword inputs that no layer takes, and takes the others."""

from __future__ import annotations

import pytest

from mlax._core import checks
from mlax.block import series as Series
from mlax_scaffold.testing import layer_refusals, toys
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.contract import Claim
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.fitting import hyperparams_of, known
from mlax_scaffold.testing.kinds import layer
from mlax_scaffold.testing.oracle import find_spec
from mlax_scaffold.testing.strategies import booleans

SPEC = find_spec("mlax_scaffold/specs/block/series.py", near=__file__)
CLAIM = Claim(layer_refusals.refuse_unknown_inputs)


def contract():
    """The contract of a block with layers, which take `shift`."""

    @layer("Series", SPEC, Series.init)
    def cases(pick):
        hyperparameters = {"layers": toys.Toy.several(2)}
        hyperparams = hyperparams_of(Series, hyperparameters)
        shapes = shapes_of(
            pick,
            {"x": "*batch features", "shift": "features"},
            dict(known(hyperparams), features=toys.WIDTH),
            trees=("x", "shift"),
        )
        given = pick("shift is given", booleans())
        inputs = {"shift": shapes.array("shift")} if given else {}
        x = shapes.array("x")
        return Case.of_layer(
            "Series",
            Series,
            None,
            hyperparameters,
            shapes=shapes,
            x=x,
            inputs=inputs,
            trains=True,
        )

    return cases


def test_what_no_layer_takes_is_refused(monkeypatch):
    contract().keep(CLAIM)
    monkeypatch.setattr(checks, "passed", lambda owner, layer, inputs: None)
    with pytest.raises(AssertionError, match="takes a keyword input that nothing uses"):
        contract().keep(CLAIM)


def test_the_block_is_named(monkeypatch):
    def refuse(owner, layer, inputs):
        if "no_such_input" in inputs:
            raise TypeError("Toy: no layer takes the keyword input 'no_such_input'")

    monkeypatch.setattr(checks, "passed", refuse)
    with pytest.raises(AssertionError, match="does not name it, or not Series"):
        contract().keep(CLAIM)


def test_what_a_layer_takes_is_not_left_out_as_unfit(monkeypatch):
    passed = checks.passed
    monkeypatch.setattr(
        checks, "passed", lambda owner, layer, inputs: passed(owner, None, inputs)
    )
    with pytest.raises(TypeError, match="no layer takes the keyword input 'shift'"):
        _ = contract().covering
