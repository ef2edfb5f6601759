"""What refuses the defaults of a layer, and what only does not fit what is required of it."""

from __future__ import annotations

from typing import Any

import pytest

from mlax_scaffold.testing.by_default import refused_by_default, taken_by_default
from mlax_scaffold.testing.picks import Make, Pick, Unfit
from mlax_scaffold.testing.strategies import axis_sizes, sizes

FIELDS = ("features", "heads")


def layer(refuse: Any) -> Make[Any]:
    """Makes a layer of `features` and `heads`, of which `refuse` says what is wrong."""

    def make(pick: Pick) -> Any:
        features, heads = (pick(name, sizes()) for name in FIELDS)
        if told := refuse(features, heads):
            raise Unfit(told)
        return features, heads

    return make


def swapped(features: int, heads: int) -> str:
    if features % 2:
        return f"features must be even, got features={features}"
    return f"Attention: got features={heads}, heads=8" if heads == 8 else ""


def divided(features: int, heads: int) -> str:
    return f"got features={features}, heads={heads}" if features % heads else ""


def unnumbered(features: int, heads: int) -> str:
    return "heads must divide features" if features % heads else ""


def test_what_refuses_the_defaults_whatever_else_is_given():
    found = refused_by_default(layer(swapped), FIELDS, {"heads": 8})
    assert str(found) == "Attention: got features=8, heads=8"


@pytest.mark.parametrize("refuse", [divided, unnumbered, lambda *_: ""])
def test_what_fits_some_of_what_is_required(refuse: Any):
    assert refused_by_default(layer(refuse), FIELDS, {"heads": 8}) is None


def test_defaults_that_are_taken():
    assert refused_by_default(layer(swapped), FIELDS, {"heads": 4}) is None


def test_without_what_is_required():
    found = refused_by_default(layer(divided), FIELDS, {"features": 3, "heads": 2})
    assert str(found) == "got features=3, heads=2"


def test_what_a_longer_axis_takes():
    def make(pick: Pick) -> Any:
        features, size = pick("features", sizes()), pick("size of x", axis_sizes(4))
        if size < 8:
            raise Unfit(f"top_k got k=8 with shape={size}")
        return features

    assert refused_by_default(make, ("features", "k"), {"k": 8}) is None


def test_what_is_taken_has_no_axis_of_size_1_where_others_are_taken():
    odd = layer(lambda features, heads: "odd" if (features + heads) % 2 else "")
    features, heads = taken_by_default(odd, {}) or (1, 1)
    assert features > 1
    assert heads > 1


def halved(features: int, heads: int) -> str:
    odd = features % heads or (features // heads) % 2
    return f"got features={features}, heads={heads}" if odd else ""


def test_sizes_of_heads_that_are_even_are_found():
    assert taken_by_default(layer(halved), {"heads": 4}) == (8, 4)


def test_a_case_that_is_taken_keeps_what_is_said_of_it():
    found = taken_by_default(layer(lambda *_: ""), {"heads": 4}, lambda c: c[0] > 2)
    assert found is not None
    assert found[0] > 2
    assert taken_by_default(layer(lambda *_: ""), {}, lambda _: False) is None
