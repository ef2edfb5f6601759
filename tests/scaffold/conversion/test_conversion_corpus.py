"""Every input of the corpus becomes a spec, or says by line what has no counterpart."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from corpus_inputs import CORPUS, INPUTS, Input, all_converted

WRITTEN_BY_HAND: dict[str, str] = {}
"""What is listed for the inputs that do not convert whole."""


@pytest.mark.parametrize("given", INPUTS, ids=str)
def test_what_is_left_is_listed_with_its_line(given: Input):
    made = all_converted()[given]
    left = [note for note in made.notes if note.blocks]
    assert bool(left) == (str(given) in WRITTEN_BY_HAND)
    lines = (CORPUS / given.path).read_text().splitlines()
    for note in left:
        assert WRITTEN_BY_HAND[str(given)] in note.what
        assert WRITTEN_BY_HAND[str(given)].strip("`")[:8] in lines[note.line - 1]
        assert note.at(given.path).startswith(f"{given.path}:{note.line}: ")


@pytest.mark.parametrize("given", INPUTS, ids=str)
def test_a_spec_keeps_the_docstring_and_holds_nothing_of_the_library(given: Input):
    made = all_converted()[given]
    tree = ast.parse(made.text)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert not names & {"torch", "nnx", "eqx", "hk", "optax"}
    definitions = {
        n.name: n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)
    }
    assert given.name in definitions
    source = ast.parse((CORPUS / given.path).read_text())
    for node in source.body:
        known = isinstance(node, ast.ClassDef | ast.FunctionDef)
        if known and node.name == given.thing and ast.get_docstring(node):
            said = ast.get_docstring(definitions[given.name])
            assert said == ast.get_docstring(node)


def test_most_inputs_of_each_library_convert_whole():
    total = Counter(given.framework for given in INPUTS)
    whole = Counter(g.framework for g, made in all_converted().items() if made.whole)
    assert sum(total.values()) >= 95
    assert set(total) == {
        "pytorch",
        "linen",
        "nnx",
        "equinox",
        "haiku",
        "optax",
        "plain",
    }
    for framework, number in total.items():
        assert whole[framework] >= 0.9 * number, framework
