"""Mistakes that newcomers make, the message that each gets, and what its edits make of it.

A file of `mistakes/` holds those of one kind. A case is a whole spec, or a part of the spec below: the body
of `forward` or of `setup`, a field, the type of the input or of the result. What is found in it is recorded,
and how the text differs once every edit is made, or that something is left to mend by hand.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlax_scaffold.errors import SpecError
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.reader.remedies.mending import mend

FOLDER = Path(__file__).parent / "mistakes"
PARTS = {
    "field": "",
    "setup": "self.kernel = trainable(lecun_normal(), (self.features, self.features))",
    "forward": "return x",
    "input": 'Float["*batch features"]',
    "result": 'Float["..."]',
}
SPEC = '''\
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    Activation, Float, Initializer, Layer, Literal, PerDim, Size, Sizes,
    lecun_normal, state, trainable, zeros,
)  # fmt: skip


class Example(Layer):
    """A spec of a test."""

    features: Size
{field}
    def setup(self):
{setup}

    def forward(self, x: {input}) -> {result}:
{forward}
'''
BY_HAND = "by hand\n"
NOTHING = "nothing is found\n"
CASE = re.compile(r"(?m)^=== (\w+): (.+)\n")
FOUND = "--- found\n"
EDITED = "--- edited\n"


def cases() -> Iterator[tuple[str, str, str, str]]:
    """The file, the name, the part and the text of each case, and what is recorded."""
    for path in sorted(FOLDER.glob("*.txt")):
        pieces = CASE.split(path.read_text(encoding="utf-8"))[1:]
        for part, name, text in zip(*[iter(pieces)] * 3, strict=True):
            yield path.stem, part, name, text


def written(part: str, text: str) -> str:
    """The spec of a case."""
    if part == "spec":
        return text
    given = PARTS | {part: text.rstrip("\n")}
    for body in ("setup", "forward"):
        given[body] = textwrap.indent(given[body], " " * 8)
    if given["field"]:
        given["field"] = f"    {given['field']}\n"
    return SPEC.format_map(given)


def outcome(part: str, text: str, built_in: tuple[SpecFile, ...]) -> str:
    """What is found in a case, and what its edits make of it."""
    file = SpecFile("specs/nn/example.py", "nn", written(part, text))
    if "@function" in text or "(Optimizer)" in text or "(Schedule)" in text:
        section = "functional" if "@function" in text else "schedule"
        section = "optim" if "(Optimizer)" in text else section
        file = SpecFile(f"specs/{section}/example.py", section, file.text)

    def read(files):
        return read_library(tuple(files), built_in)

    try:
        read([file])
    except SpecError as error:
        found = [str(d).partition(":")[2] for d in error.diagnostics]
        mended = mend([file], error, read).texts.get(file.path)
    else:
        return FOUND + NOTHING
    changed = BY_HAND
    if mended is not None:
        before, after = file.text.split("\n"), mended.split("\n")
        lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
        changed = "".join(f"{t}\n" for t in lines if not t.startswith("@@"))
    return f"{FOUND}{chr(10).join(found)}\n{EDITED}{changed}"


@pytest.fixture(scope="module")
def built_in() -> tuple[SpecFile, ...]:
    return find_specs(LIBRARY_SPECS, "library")


def test_there_are_many():
    names = [(part, name) for _, part, name, _ in cases()]
    assert len(names) >= 120
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        pytest.param(part, text, id=f"{kind}-{name}")
        for kind, part, name, text in cases()
    ],
)
def test_a_mistake_gets_its_message(
    part: str, text: str, built_in: tuple[SpecFile, ...]
):
    given, mark, expected = text.partition(FOUND)
    assert mark, "nothing is recorded"
    assert outcome(part, given, built_in) == FOUND + expected
