"""A text is read once, and again where what it is read to could be something else."""

from __future__ import annotations

import dataclasses

import pytest

from mlax_scaffold.model.words import WORDS, vocabulary
from mlax_scaffold.reader.kept import read_once

BASE = '''"""Scales."""

from mlax_scaffold.spec import Float, Layer, Positive


class Scale(Layer):
    """Multiplies by a number."""

    factor: Positive = 2.0  #: what the input is multiplied by

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x * self.factor
'''
DERIVED = '''"""Scales down."""

from specs.nn.scale import Scale


class Shrink(Scale):
    """Multiplies by a small number."""
'''
BASE_PLACE = ("nn", "scale")


def read(text, name="scale", **options):
    return read_once(f"specs/nn/{name}.py", text, **options)


def test_the_same_text_is_read_once():
    [first], _ = read(BASE)
    [second], _ = read("".join(BASE))
    assert second is first


@pytest.mark.parametrize(
    ("text", "name", "words", "foreign"),
    [
        (BASE.replace("a number", "one number"), "scale", frozenset(), False),
        (BASE, "other", frozenset(), False),
        (BASE, "scale", frozenset({"a_word"}), False),
        (BASE, "scale", frozenset(), True),
    ],
    ids=["text", "path", "words", "foreign"],
)
def test_what_it_follows_from_counts(text, name, words, foreign):
    [first], _ = read(BASE)
    [second], _ = read(text, name, words=words, foreign=foreign)
    assert second is not first


def test_a_class_that_is_based_on_another_file_follows_it():
    def default(factor):
        files = {BASE_PLACE: BASE.replace("2.0", factor)}
        [found], problems = read(DERIVED, "shrink", files=files)
        assert not problems
        value = found.hyperparameters[0].default
        assert value is not None
        return value.text

    assert [default("0.5"), default("0.25"), default("0.5")] == ["0.5", "0.25", "0.5"]


def test_files_that_it_is_not_based_on_do_not_count():
    files = {BASE_PLACE: BASE}
    [first], _ = read(DERIVED, "shrink", files=files)
    [second], _ = read(DERIVED, "shrink", files=files | {("nn", "more"): BASE})
    assert second is first


def test_a_base_that_goes_is_told():
    assert read(DERIVED, "shrink", files={BASE_PLACE: BASE})[0]
    definitions, problems = read(DERIVED, "shrink")
    assert not definitions
    assert problems


def test_findings_are_found_each_time():
    text = BASE.replace("self.factor", "self.facto")
    (_, first), (_, second) = read(text), read(text)
    assert first == second
    assert first[0] is not second[0]


def test_words_of_plugins_count():
    [first], _ = read(BASE)
    even = dataclasses.replace(WORDS["Size"], name="Even", module="pack.words")
    with vocabulary([even]):
        [second], _ = read(BASE)
    assert second is not first
    [third], _ = read(BASE)
    assert third is first
