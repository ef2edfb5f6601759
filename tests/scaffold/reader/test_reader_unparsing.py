"""The text of a tree is the same on every version of Python, and every version can read it."""

from __future__ import annotations

import ast

import pytest

from mlax_scaffold.model.unparsing import unparsed

SAME = [
    "f'{x}'",
    "f''",
    """f"{a['x']} b\"""",
    """f"it's {a!r:>{w}}\"""",
    "f'{{}} {y:.2f}\\n'",
    "f'{ {1: 2}[1]}'",
    """f'''{'a' if b else 'c'} "q"'''""",
    "f'\\\\d{x}'",
    """f"{f'{a}'}\"""",
    """g(f"a{b}c'd", 'e')""",
]
"""Texts of which each is what it is unparsed to."""


@pytest.mark.parametrize("text", SAME)
def test_formatted_strings(text):
    assert unparsed(ast.parse(text, mode="eval").body) == text


def test_nothing_else_changes():
    text = "x[1:2, ...] + lambda_(lambda a, *b: a)['c'] if d else not e"
    tree = ast.parse(text, mode="eval").body
    before = ast.dump(tree)
    assert unparsed(tree) == ast.unparse(tree)
    assert ast.dump(tree) == before


def test_the_tree_stays_as_it_is():
    tree = ast.parse("""g(f"{a['x']}")""", mode="eval").body
    before = ast.dump(tree)
    unparsed(tree)
    assert ast.dump(tree) == before
