"""Examples and counts of definitions that are not in the library."""

from __future__ import annotations

import re
import textwrap

import pytest

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.docs.example import example
from mlax_scaffold.render.docs.setup import Setup

WORDS = (
    *("Block", "Float", "Layer", "PyTree", "Size", "SubLayer"),
    *("require", "state", "trainable", "zeros"),
)


def read(body: str, section: str = "nn") -> Library:
    body = textwrap.dedent(body)
    used = ", ".join(word for word in WORDS if re.search(rf"\b{word}\b", body))
    text = f"from mlax_scaffold.spec import {used}\n\n\n{body}"
    return read_library((SpecFile(f"specs/{section}/probe.py", section, text),))


def only(library: Library) -> Definition:
    [definition] = library
    return definition


def layer(fields: str, setup: str = "", shape: str = "*batch size") -> Library:
    lines = [
        "class Probe(Layer):",
        '    """A layer."""',
        *(f"    {field}" for field in fields.split("\n")),
        *(["    def setup(self):"] if setup else []),
        *(f"        {line}" for line in setup.split("\n") if setup),
        f'    def forward(self, x: Float["{shape}"]) -> Float["{shape}"]:',
        "        return x",
    ]
    return read("\n".join(lines) + "\n")


def of(library: Library) -> str:
    return example(only(library), library, "net")


@pytest.mark.parametrize(
    ("requirement", "chosen"),
    [
        ("self.size % 3 == 0", "size=3"),
        ("self.size > 4 and not self.size == 8", "size=6"),
        ("self.size in (1, 7)", "size=1"),
        ("self.size * 2 <= 4", "size=2"),
    ],
)
def test_values_satisfy_the_requirements(requirement, chosen):
    library = layer("size: Size  #: size", f'require({requirement}, "no")')
    assert f"nn.Probe.init({chosen})" in of(library)


def test_there_is_no_example_where_no_value_is_found():
    library = layer("size: Size  #: size", 'require(self.size == 99, "99")')
    assert of(library) == ""


def test_what_is_not_understood_is_not_held_against_the_values():
    library = layer("size: Size  #: size", 'require(len((self.size,)) == 1, "no")')
    assert "nn.Probe.init(size=4)" in of(library)


def test_shapes_are_those_of_the_values():
    library = layer(
        "size: Size  #: size\nother: Size  #: another\nfirst: bool = True  #: which",
        shape="batch size*other free if first else batch free",
    )
    assert "x = jnp.ones((2, 16, 3), jnp.bfloat16)" in of(library)
    assert "assert y.shape == (2, 16, 3)" in of(library)


def test_derived_sizes_are_computed():
    library = layer(
        "size: Size  #: size", "self.half = self.size // 2", shape="*batch half"
    )
    assert "jnp.ones((2, 2), jnp.bfloat16)" in of(library)


def test_a_block_has_no_example_without_a_layer_to_put_in():
    library = read(
        """\
        class Probe(Block):
            \"\"\"A block.\"\"\"

            layer: SubLayer  #: a layer

            def forward(self, x: PyTree) -> PyTree:
                return self.layer(x)
        """,
        section="block",
    )
    assert of(library) == ""


@pytest.mark.parametrize(
    ("setup", "count"),
    [
        ("self.w = trainable(zeros, (self.size, 3))", "size * 3"),
        ("self.w = trainable(zeros, ())", "1"),
        ("n = 2 * self.size\nself.w = trainable(zeros, (n, n))", None),
        (
            "a, b = self.size, 2\nself.w = trainable(zeros, (a, b)) if self.use else None",
            "(size * 2 if use else 0)",
        ),
        (
            "s = (self.size, 2) if self.use else (2, self.size)\n"
            "self.w = trainable(zeros, s)",
            "size * 2",
        ),
        (
            "s = (self.size,) if self.use else (2, 2)\nself.w = trainable(zeros, s)",
            "(size if use else 2 * 2)",
        ),
        ("self.w = state(zeros, (self.size,))", "0"),
    ],
)
def test_weights_are_counted_in_hyperparameters(setup, count):
    fields = "size: Size  #: size\nuse: bool = True  #: whether"
    counted = Setup(only(layer(fields, setup))).count()
    assert counted == (count or "2 * size * 2 * size")


def test_a_count_that_does_not_follow_is_not_guessed():
    setup = "s = tuple([self.size])\nself.w = trainable(zeros, s)"
    assert Setup(only(layer("size: Size  #: size", setup))).count() is None


@pytest.mark.parametrize(
    ("shape", "size", "chosen"),
    [
        ("batch n d", 5, "(2, 5, 5)"),
        ("batch n", 64, "(2, 64)"),
        ("batch n d", 64, "(2, 3, 3)"),
        ("batch n k", 64, "(2, 3, 64)"),
        ("batch n", 2, "(2, 3)"),
    ],
    ids=["few of several", "of a long axis", "too many", "an axis", "fewer"],
)
def test_an_axis_is_no_shorter_than_what_is_taken_of_it(shape, size, chosen):
    found = of(layer(f"k: Size = {size}  #: so many are taken", shape=shape))
    assert f"x = jnp.ones({chosen}, jnp.bfloat16)" in found
