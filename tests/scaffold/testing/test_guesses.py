"""Of the shapes that inputs may have, the plainest that the code takes is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import pytest

from mlax_scaffold.reader.axes.trying import shapes_to_try
from mlax_scaffold.testing.guesses import loosest, plainest, replaced, shapes_in

WRITTEN = '''\
import jax.numpy as jnp
from mlax_scaffold.spec import Layer, Size, trainable, zeros


class Example(Layer):
    """A spec of a test."""

    width: Size

    def setup(self):
        self.kernel = trainable(zeros, (self.width, self.width))

    def {name}(self, points, mask, known: Float["batch"], ids, eps, scale=None):
        b, n, d = ids.shape
        return (points @ self.kernel).max(axis=1) * mask
'''
GUESSED = WRITTEN.replace(
    "points, mask, known", 'points: Float["batch width"], mask: Float["..."], known'
).replace("ids, eps", 'ids: Int["b n d"], eps: Float[""]')


@pytest.mark.parametrize("name", ["forward", "__call__"])
def test_what_an_input_may_be(name: str):
    after = GUESSED.format(name="forward")
    found = shapes_to_try(WRITTEN.format(name=name), after, "Example", "specs/nn/e.py")
    assert found == {
        "points": [
            "points__batch width",
            "points__batch points__length width",
            "width",
            "points__batch points__height points__width width",
        ],
        "mask": [
            "*batch mask__features",
            "*batch",
            "mask__batch mask__features",
            "mask__batch mask__length mask__features",
            "mask__features",
            "mask__batch mask__height mask__width mask__channels",
        ],
        # Its shape is taken apart.
        "ids": ["ids__batch ids__length ids__axis_0"],
        "eps": ["", "eps__batch", "eps__batch eps__features"],
    }


@pytest.mark.parametrize(
    "before", [GUESSED.format(name="forward"), "class Other: pass", "def ("]
)
def test_what_its_author_wrote_is_no_guess(before: str):
    after = GUESSED.format(name="forward")
    assert shapes_to_try(before, after, "Example", "specs/nn/e.py") == {}


def contract(shapes: Mapping[str, str]) -> Any:
    """One whose cases say nothing."""

    def make(pick: Any) -> None:
        raise ValueError

    return SimpleNamespace(shapes=dict(shapes), make=make)


def solving(*taken: tuple[dict[str, str], dict[str, str]]) -> Any:
    """Takes some shapes with some ties."""
    return lambda c: next((sizes for given, sizes in taken if given == c.shapes), None)


PAIR = {
    "x": ["x__batch dim", "x__batch x__length dim"],
    "y": ["y__features", "y__batch y__features"],
}


def test_shapes_without_accidents_are_chosen_though_they_are_not_the_likeliest():
    nearest = {"x": "x__batch dim", "y": "y__features"}
    further = {"x": "x__batch x__length dim", "y": "y__batch y__features"}
    solve = solving(
        (nearest, {"x__batch": "out", "y__features": "dim"}),
        (further, {"y__batch": "x__batch", "y__features": "dim"}),
    )
    found = plainest(PAIR, contract, solve)
    assert found == {"x": "batch length dim", "y": "batch dim"}


def test_the_likeliest_is_chosen_of_those_without_accidents():
    nearest = {"x": "x__batch dim", "y": "y__batch y__features"}
    further = {"x": "x__batch x__length dim", "y": "y__batch y__features"}
    solve = solving((nearest, {"y__batch": "x__batch"}), (further, {}))
    assert plainest(PAIR, contract, solve) == {"x": "batch dim", "y": "batch features"}


def test_axes_that_nothing_ties_have_names_of_their_own():
    given = {"x": ["x__batch dim"], "y": ["y__batch dim"]}
    found = plainest(given, contract, lambda c: {})
    assert found == {"x": "batch dim", "y": "y_length dim"}


def test_a_field_whose_name_begins_with_that_of_an_input_keeps_it():
    given = {"x": ["x__batch x__length x_features"]}
    found = plainest(given, contract, lambda c: {})
    assert found == {"x": "batch length x_features"}


def test_an_axis_of_two_inputs_has_the_name_of_the_first():
    given = {
        "x": ["x__batch x__length dim"],
        "y": ["y__batch y__length dim"],
        "z": ["z__batch z__length"],
    }
    ties = {"y__batch": "x__batch", "z__batch": "x__batch", "z__length": "y__length"}
    assert plainest(given, contract, lambda c: ties) == {
        "x": "batch length dim",
        "y": "batch y_length dim",
        "z": "batch y_length",
    }


def test_height_and_width_stand_behind_channels():
    given = {"x": ["x__batch x__height x__width x__channels"]}
    found = plainest(given, contract, lambda c: {"x__height": "channels"})
    assert found == {"x": "batch channels height width"}


def test_a_number_has_no_axes():
    given = {"x": ["x__batch dim"], "t": ["", "t__features"]}
    assert plainest(given, contract, lambda c: {}) == {"x": "batch dim", "t": ""}


def test_nothing_is_chosen_where_nothing_is_taken():
    assert plainest(PAIR, contract, lambda c: None) == {}


TEXT = """\
    shapes = shapes_of(
        pick,
        {"x": "batch dim", 'y': 'batch dim', "z": "*batch dim"},
        given={"x": example["x"]},
    )
"""


def test_shapes_in_the_text_of_tests():
    assert shapes_in(TEXT, "xyw") == {"x": "batch dim", "y": "batch dim"}
    new = replaced(TEXT, {"x": "a", "y": "b c"})
    assert shapes_in(new, "xyz") == {"x": "a", "y": "b c", "z": "*batch dim"}
    assert 'given={"x": example["x"]}' in new


def loosened(sizes: Mapping[str, str] | None) -> Mapping[str, str]:
    given = {"x": ["x__batch dim"], "y": ["y__batch dim"], "z": ["z__batch dim"]}
    return loosest(given, TEXT, {"dim"}, contract, lambda c: sizes)


def test_ties_that_the_code_does_not_ask_for_are_given_up():
    assert loosened({}) == {"x": "batch dim", "y": "y_length dim"}


@pytest.mark.parametrize("sizes", [{"y__batch": "x__batch"}, None])
def test_ties_that_it_asks_for_stay(sizes: Mapping[str, str] | None):
    assert loosened(sizes) == {}


def test_weights_of_one_axis_go_with_each_row_of_what_is_no_vector():
    weight = jnp.ones(3)

    def made(shape: tuple[int, ...]) -> Any:
        def make(pick: Any) -> Any:
            return SimpleNamespace(
                forward=jnp.ones(shape) * weight + weight * weight - weight
            )

        return make

    def contract_of(shapes: Mapping[str, str]) -> Any:
        return SimpleNamespace(make=made((2, 3) if " " in shapes["x"] else (3,)))

    given = {"x": ["x__batch x__features", "x__features"]}
    found = plainest(given, contract_of, lambda c: {"x__features": "len(levels)"})
    assert found == {"x": "batch len(levels)"}
