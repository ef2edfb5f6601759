"""A docstring of any form is taken: its first sentence sums it up, and nothing of it is lost."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlax_scaffold.model.docstrings import split_docstring
from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render

LONG = (
    "Feature-wise linear modulation of an input by what a second one says of it, after"
)
CASES = {
    "short": ("Scales the input.", "Scales the input.", ""),
    "short in two lines": ("Scales\nthe input.", "Scales the input.", ""),
    "then a paragraph": ("Scales.\n\nBy one.", "Scales.", "By one."),
    "then a blank line of spaces": ("Scales.\n  \nBy one.", "Scales.", "By one."),
    "long": (f"{LONG} Perez.", f"{LONG} Perez.", ""),
    "two sentences": (f"{LONG} all. More.", f"{LONG} all.", "More."),
    "a sentence a line": (
        f"Modulates.\n{LONG} all.\n\nEnd.",
        "Modulates.",
        f"{LONG} all.\n\nEnd.",
    ),
    "authors": (
        f"{LONG} Perez et al. (2018). More.",
        f"{LONG} Perez et al. (2018).",
        "More.",
    ),
    "initials": (f"{LONG} E. Perez. More.", f"{LONG} E. Perez.", "More."),
    "numbers": (f"{LONG} 0.9 of it! More.", f"{LONG} 0.9 of it!", "More."),
    "a title": (f"FiLM\n{LONG} all.", f"FiLM {LONG} all.", ""),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_summary_is_the_first_sentence(case: tuple[str, str, str]):
    doc, summary, rest = case
    assert split_docstring(doc) == (summary, rest)


@given(
    st.text("ab. \n!?()\"'", max_size=200).map(
        lambda text: ast.get_docstring(_module(text))
    )
)
def test_no_word_is_lost(doc: str | None):
    summary, rest = split_docstring(doc or "")
    assert summary.split() + rest.split() == (doc or "").split()
    assert "\n" not in summary


def _module(text: str) -> ast.Module:
    return ast.Module([ast.Expr(ast.Constant(text))], [])


@pytest.mark.parametrize("kind", ["layer", "function", "optimizer", "schedule"])
def test_a_long_docstring_generates_lines_that_fit(kind: str):
    doc = f"{LONG} Perez et al. (2018): each channel is scaled and shifted. More\n    of it."
    section, text = {
        "layer": (
            "nn",
            f'class Example(Layer):\n    """{doc}"""\n\n'
            '    def forward(self, x: Float["..."]) -> Float["..."]:\n'
            "        return x\n",
        ),
        "function": (
            "functional",
            '@function\ndef example(x: Float["..."]) -> Float["..."]:\n'
            f'    """{doc}"""\n    return x\n',
        ),
        "optimizer": (
            "optim",
            f'class Example(Optimizer):\n    """{doc}"""\n\n'
            "    def update(self, grad, param):\n        return -grad\n",
        ),
        "schedule": (
            "schedule",
            f'class Example(Schedule):\n    """{doc}"""\n\n'
            "    def value(self, step):\n        return step\n",
        ),
    }[kind]
    names = "Float, Layer, Optimizer, Schedule, function"
    text = f"from mlax_scaffold.spec import {names}\n\n\n{text}"
    library = read_library((SpecFile(f"specs/{section}/example.py", section, text),))
    project = Project("mynet", "specs", "mynet", "tests/generated", "docs/reference")
    files = render(library, project)
    for file in files:
        if file.source and file.path.endswith(".py"):
            longest = max(file.text.splitlines(), key=len)
            assert longest[88:] == "", f"{file.path}: {longest}"
    index = next(f for f in files if f.path == f"docs/reference/{section}/index.md")
    assert "is scaled and shifted. |" in index.text
