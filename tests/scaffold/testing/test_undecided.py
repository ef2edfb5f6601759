"""The orders in which weights may have been made that names do not tell apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mlax_scaffold.testing.undecided import (
    as_declared,
    as_made_in_loops,
    as_named,
    as_numbered,
    moved,
)
from mlax_scaffold.weights.arrays import parse
from mlax_scaffold.weights.mapping import Mapping, Weight
from mlax_scaffold.weights.model import Leaf

PATHS = ("norm/scale", "ups/0/bias", "ups/1/bias", "downs/0/bias", "downs/1/bias")
PLACES = tuple(f"Dense_{i}" for i in range(len(PATHS)))


def mapping() -> Mapping:
    weights = [
        Weight(
            Leaf("trainables", path, (2,), "float32"),
            candidates=tuple(f'"{p}"' for p in PLACES),
        )
        for path in PATHS
    ]
    return Mapping("flax", tuple(weights))


def places(made: Mapping) -> list[str]:
    return [str(w.expression).strip('"') for w in made.weights]


def test_what_is_open_is_taken_as_it_was_declared():
    assert places(as_declared(mapping())) == list(PLACES)


def test_layers_of_a_loop_are_made_in_turn():
    assert places(as_made_in_loops(mapping())) == [
        *("Dense_0", "Dense_1", "Dense_3", "Dense_2", "Dense_4"),
    ]


def test_layers_of_a_loop_of_a_layer_within_are_made_in_turn():
    inner = mapping()
    weights = tuple(
        replace(w, leaf=replace(w.leaf, path=f"model/{w.leaf.path}"))
        for w in inner.weights
    )
    assert places(as_made_in_loops(replace(inner, weights=weights))) == [
        *("Dense_0", "Dense_1", "Dense_3", "Dense_2", "Dense_4"),
    ]


def test_names_that_count_say_nothing_of_a_layer_behind_loops():
    paths = ("norms/0/scale", "norms/1/scale", "norms_2/0/scale", "norms_2/1/scale")
    there = [f'"norm{n}/scale"' for n in ("", "_1", "_2", "_3", "_4")]
    leaves = [Leaf("trainables", p, (2,), "float32") for p in (*paths, "norm_2/scale")]
    listed = [t for t in there if "_2" not in t]
    weights = [Weight(leaf, candidates=tuple(listed)) for leaf in leaves[:-1]]
    weights.append(Weight(leaves[-1], parse(there[2]), "by name"))
    made = as_numbered(Mapping("haiku", tuple(weights)))
    assert [str(w.expression) for w in made.weights] == [
        there[i] for i in (0, 2, 1, 3, 4)
    ]


def test_layers_of_the_same_name_are_taken_for_each_other():
    places_there = ("block/conv_0/w", "block/proj/w")
    weights = [
        Weight(
            Leaf("trainables", path, (2,), "float32"),
            candidates=tuple(f'"{p}"' for p in places_there),
        )
        for path in ("block_0/proj/kernel", "block_0/conv_0/kernel")
    ]
    given = Mapping("haiku", tuple(weights))
    assert places(as_declared(given)) == [*places_there]
    assert places(as_named(given)) == [*reversed(places_there)]


def test_weights_of_one_shape_are_moved_to_different_numbers():
    weights = {place: np.zeros(2, np.float32) for place in PLACES}
    found = moved(weights, as_declared(mapping()))
    assert len({tuple(w) for w in found.values()}) == len(PLACES)


def test_averages_of_haiku_that_the_layer_has_are_moved_and_others_stay():
    average = np.zeros(2, np.float32)
    state = {"norm/~/mean_ema": {"average": average, "hidden": average}}
    name = "norm/~/mean_ema/average"
    weight = Weight(
        Leaf("non_trainables", "norm/mean", (2,), "float32"),
        expression=parse(f'"{name}"'),
    )
    params, found = moved(({}, state), Mapping("haiku", (weight,)))
    assert params == {}
    assert np.all(found["norm/~/mean_ema"]["average"] > 0)
    assert np.all(found["norm/~/mean_ema"]["hidden"] == 0)
