"""Three versions of a module become one: by functions and classes, then by lines."""

from __future__ import annotations

import ast

import pytest

from mlax_scaffold.owning.merging import Side, Versions, merge
from mlax_scaffold.project.units import cut, cut_class, joined

BASE = '''\
# A header.
"""A module."""

from __future__ import annotations

import jax
from jax import lax

LIMIT = 3.0


class Layer:
    """A layer."""

    size: int
    """Its size."""
    rate: float = 0.1

    def first(self, x):
        y = x + 1
        z = y * 2
        return z

    def second(self, x):
        return x - 1


# Above the function.
def fwd(x):
    a = x + 1
    b = a * 2
    c = b - 3
    return c


def last(x):
    return lax.neg(x)
'''


def merged(mine: str, theirs: str, side: Side = Side.NEITHER, base: str = BASE):
    return merge(Versions(base, mine, theirs), side, "new")


def changed(*pairs: tuple[str, str]) -> str:
    text = BASE
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after, 1)
    return text


def test_units_are_the_whole_text():
    units = cut(BASE)
    assert joined(list(units.values())) == BASE
    assert list(units) == ["docstring", "imports", "LIMIT", "Layer", "fwd", "last"]
    parts = cut_class(units["Layer"])
    assert joined(list(parts.values())) == units["Layer"].text
    assert list(parts) == ["head", "size", "rate", "first", "second"]
    assert '"""Its size."""' in parts["size"].text
    assert units["fwd"].text.startswith("\n\n# Above the function.\n")


def test_definitions_of_one_name_are_told_apart():
    text = "def f(x: int): ...\ndef f(x: str): ...\n"
    assert list(cut(text)) == ["f", "f (2)"]


CHANGES = {
    "a constant": ("LIMIT = 3.0", "LIMIT = 4.0"),
    "a function": ("c = b - 3", "c = b - 4"),
    "another function": ("lax.neg(x)", "lax.abs(x)"),
    "a method": ("x - 1", "x - 2"),
    "a field": ("rate: float = 0.1", "rate: float = 0.2"),
    "documentation of a field": ("Its size.", "The size."),
    "the docstring": ('"""A module."""', '"""A module.\n\nMore.\n"""'),
    "a new function": ("# Above the", "def added(x):\n    return x\n\n\n# Above the"),
    "a new method": (
        "    def second",
        "    def added(self):\n        ...\n\n    def second",
    ),
    "a function less": ("\n\ndef last(x):\n    return lax.neg(x)\n", ""),
    "an import": ("import jax\n", "import jax\nimport jax.numpy as jnp\n"),
    "an import less": ("from jax import lax\n", ""),
}


@pytest.mark.parametrize("mine", CHANGES)
@pytest.mark.parametrize("theirs", CHANGES)
def test_changes_of_different_things_are_both_there(mine: str, theirs: str):
    made = merged(changed(CHANGES[mine]), changed(CHANGES[theirs]))
    if {mine, theirs} == {"another function", "a function less"}:
        assert made.conflicts == ("last",)
        return
    assert made.conflicts == ()
    assert "<<<<" not in made.text
    wanted = changed(*(CHANGES[name] for name in dict.fromkeys((mine, theirs))))
    assert names(made.text) == names(wanted)
    assert ast.dump(without_imports(made.text)) == ast.dump(without_imports(wanted))


def names(text: str) -> set[str]:
    return {
        f"{getattr(node, 'module', '')} {alias.name} {alias.asname}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def without_imports(text: str) -> ast.Module:
    tree = ast.parse(text)
    kinds = (ast.Import, ast.ImportFrom)
    tree.body = [node for node in tree.body if not isinstance(node, kinds)]
    return tree


def test_lines_of_one_function_merge():
    mine = changed(("a = x + 1", "a = x + 10"))
    theirs = changed(("    return c\n", "    return c * 2\n"))
    made = merged(mine, theirs)
    assert made.conflicts == ()
    assert "a = x + 10" in made.text
    assert "return c * 2" in made.text


CONTRADICTIONS = {
    "fwd": (("b = a * 2", "b = a * 3"), ("b = a * 2", "b = a * 5")),
    "LIMIT": (("LIMIT = 3.0", "LIMIT = 4.0"), ("LIMIT = 3.0", "LIMIT = 5.0")),
    "Layer.first": (("z = y * 2", "z = y * 3"), ("z = y * 2", "z = y * 5")),
    "last": (
        ("\n\ndef last(x):\n    return lax.neg(x)\n", ""),
        ("lax.neg(x)", "lax.abs(x)"),
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_names_what_it_is_about(name: str):
    mine, theirs = (changed(pair) for pair in CONTRADICTIONS[name])
    made = merged(mine, theirs)
    assert made.conflicts == (name,)
    assert "<<<<<<< yours" in made.text
    assert ">>>>>>> new" in made.text


@pytest.mark.parametrize("name", CONTRADICTIONS)
@pytest.mark.parametrize("side", [Side.OURS, Side.THEIRS])
def test_a_side_settles_it(name: str, side: Side):
    mine, theirs = (changed(pair) for pair in CONTRADICTIONS[name])
    # What only the other side changed is there all the same.
    other = ('"""A layer."""', '"""Another layer."""')
    if side is Side.OURS:
        theirs = theirs.replace(*other)
        wanted = mine.replace(*other)
    else:
        mine = mine.replace(*other)
        wanted = theirs.replace(*other)
    made = merged(mine, theirs, side)
    assert made.conflicts == ()
    assert ast.dump(ast.parse(made.text)) == ast.dump(ast.parse(wanted))


def test_what_is_no_python_merges_by_lines():
    mine = changed(("def last(x):", "def last(x:"))
    theirs = changed(("LIMIT = 3.0", "LIMIT = 4.0"))
    made = merged(mine, theirs)
    assert made.conflicts == ()
    assert "def last(x:" in made.text
    assert "LIMIT = 4.0" in made.text


def test_the_same_change_on_both_sides_is_one():
    both = changed(("LIMIT = 3.0", "LIMIT = 4.0"), ("x - 1", "x - 2"))
    assert merged(both, both).text == both
