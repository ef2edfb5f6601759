"""Docstrings, paragraphs and indentation."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlax_scaffold.render.text import (
    WIDTH,
    docstring,
    indented,
    paragraphs,
    section,
    sentence,
    wrapped,
)


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("One line.", '"""One line."""'),
        ("One.\n\nTwo.", '"""One.\n\nTwo.\n"""'),
        ("  around  \n", '"""around"""'),
        ("trailing  \nspaces  ", '"""trailing\nspaces\n"""'),
        ("", '""""""'),
        (r"a \alpha", 'r"""a \\alpha"""'),
        ('ends in "', '"""ends in \\""""'),
        ("ends in \\", '"""ends in \\\\"""'),
        ('three """ of them', '"""three \\"\\"\\" of them"""'),
        ("bell \a", '"""bell \\x07"""'),
        ("line\u2028separator", '"""line\\u2028separator"""'),
        ("lone \ud800", '"""lone \\ud800"""'),
        ("tab\there", '"""tab\there"""'),
        ("é😀", '"""é😀"""'),
    ],
)
def test_docstring(text: str, literal: str):
    assert docstring(text) == literal


def test_docstring_is_indented_but_for_its_first_and_its_blank_lines():
    assert docstring("One.\n\n  Two.", 4) == '"""One.\n\n      Two.\n    """'


@given(st.text(), st.sampled_from([0, 4, 8]))
def test_docstring_is_one_literal_of_the_same_text(text: str, indent: int):
    [statement] = ast.parse(docstring(text, indent)).body
    assert isinstance(statement, ast.Expr)
    value = ast.literal_eval(statement.value)
    assert "".join(value.split()) == "".join(text.split())
    lines = [line.strip() for line in value.strip().split("\n")]
    assert lines == [line.strip() for line in text.strip().split("\n")]


@given(st.text())
def test_docstring_can_be_written(text: str):
    docstring(text).encode("utf-8")


@pytest.mark.parametrize("indent", [0, 4, 8])
def test_wrapped_fits(indent: int):
    text = wrapped("word " * 100, indent, 4)
    assert max(map(len, text.split("\n"))) <= WIDTH - indent
    assert text.split() == ["word"] * 100
    assert all(line.startswith("    ") for line in text.split("\n")[1:])


def test_wrapped_keeps_long_words_and_hyphens():
    word = "a-b" * 60
    assert wrapped(f"{word} end") == f"{word}\nend"


def test_section():
    text = section("Args", [("x", "an array."), ("long", "word " * 30)])
    first, x, *rest = text.split("\n")
    assert (first, x) == ("Args:", "    x: an array.")
    assert rest[0].startswith("    long: word")
    assert all(line.startswith("        ") for line in rest[1:])
    assert max(map(len, text.split("\n"))) <= WIDTH - 4


def test_section_without_entries_is_empty():
    assert section("Args", []) == ""


def test_paragraphs_leave_out_what_is_empty():
    assert paragraphs("", "one\n", "  ", "\ntwo") == "one\n\ntwo"


def test_indented():
    assert indented("a\n\n  b\n \nc") == "    a\n\n      b\n\n    c"
    assert indented("a # b\u2028c\x0cd", 2) == "  a # b\u2028c\x0cd"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a word", "A word."), ("ends?", "Ends?"), (" Done. ", "Done."), ("", "")],
)
def test_sentence(text: str, expected: str):
    assert sentence(text) == expected
