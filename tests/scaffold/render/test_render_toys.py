"""What tests give a block as its layers takes the keyword inputs that the block hands on."""

from __future__ import annotations

import ast

import pytest

from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.tests import files as tests
from mlax_scaffold.render.tests.entries import entry_view

PROJECT = Project("toys", "specs", "toys", "tests", "docs")
BLOCK = '''
from mlax_scaffold.spec import Block, Bool, Float, SubLayer, SubLayers


class Masked(Block):
    """Layers that are given a mask."""

    first: SubLayer
    rest: SubLayers

    def forward(
        self, x: Float["..."], mask: Bool["..."] | None = None
    ) -> Float["..."]:
        BODY
'''


def generated(text: str) -> str:
    """The generated tests of a block."""
    specs = (SpecFile("specs/block/masked.py", "block", text),)
    library = read_library(specs, find_specs(LIBRARY_SPECS, "library"))
    definition = next(d for d in library if d.source == "specs/block/masked.py")
    return tests.test_module(definition, library, PROJECT).text


@pytest.mark.parametrize(
    ("body", "first", "rest"),
    [
        ("return self.first(x, mask=mask)", ".taking('mask')", ""),
        (
            "for layer in self.rest:\n            x = layer(x, mask=mask)\n        return self.first(x)",
            "",
            ".taking('mask')",
        ),
        (
            "return [layer(self.first(x), mask=mask) for layer in self.rest][0]",
            "",
            ".taking('mask')",
        ),
        ("return [layer(self.first(x)) for layer in self.rest][0]", "", ""),
    ],
)
def test_a_toy_takes_what_the_block_hands_on(body, first, rest):
    text = BLOCK.replace("BODY", body)
    text = generated(text)
    [given] = [
        {
            ast.literal_eval(k): ast.unparse(v)
            for k, v in zip(node.value.keys, node.value.values, strict=True)
            if k
        }
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Dict)
        and ast.unparse(node.targets[0]) == "hyperparameters"
    ]
    assert given == {
        "first": f"toys.Toy.one(){first}",
        "rest": f"toys.Toy.several(count){rest}",
    }


@pytest.mark.parametrize(
    ("body", "steady"),
    [
        ("return jax.vmap(self.first)(x)", True),
        ("return jax.vmap(jax.grad(lambda row: jnp.max(self.first(row))))(x)", True),
        ("return jax.grad(lambda x: jnp.max(self.first(x)))(x)", False),
        ("return jax.vmap(jnp.sin)(self.first(x))", False),
    ],
)
def test_a_toy_that_is_mapped_keeps_its_state(body, steady):
    text = f"import jax\nimport jax.numpy as jnp\n{BLOCK.replace('BODY', body)}"
    text = generated(text)
    assert ("toys.Toy.one().with_steady_state()" in text) is steady


def test_the_length_of_a_tuple_of_any_number_is_picked():
    text = '''
from mlax_scaffold.spec import Float, Layer


class Added(Layer):
    """Arrays, however many."""

    def forward(self, xs: tuple[Float["n m"], ...]) -> Float["n m"]:
        y = xs[0]
        for x in xs[1:]:
            y = y + x
        return y
'''
    specs = (SpecFile("specs/nn/added.py", "nn", text),)
    library = read_library(specs, find_specs(LIBRARY_SPECS, "library"))
    definition = next(d for d in library if d.source == "specs/nn/added.py")
    text = tests.test_module(definition, library, PROJECT).text
    assert "* count" in text
    assert text.count("count = pick(") == 1


@pytest.mark.parametrize(
    ("element", "drawn"),
    [
        ('Int["n"]', 'shapes.array("xs[0]", jnp.int32)'),
        (
            'tuple[Float["n"], Int["n"]]',
            '(shapes.array("xs[0][0]"), shapes.array("xs[0][1]", jnp.int32),)',
        ),
    ],
)
def test_each_of_any_number_is_drawn_as_its_type_says(element: str, drawn: str):
    text = f'''
from mlax_scaffold.spec import Float, Int, Layer


class Counted(Layer):
    """However many."""

    def forward(self, y: Float["n"], xs: tuple[{element}, ...]) -> Float["n"]:
        return y * len(xs)
'''
    specs = (SpecFile("specs/nn/counted.py", "nn", text),)
    library = read_library(specs, find_specs(LIBRARY_SPECS, "library"))
    definition = next(d for d in library if d.source == "specs/nn/counted.py")
    [view] = [entry_view(definition, definition.entry, unsaid=False)]
    assert view.x == f'(shapes.array("y"), ({drawn},) * count)'


@pytest.mark.parametrize(
    ("shape", "tree"),
    [
        ("batch ...", "batch features"),
        ("batch time features", "batch features"),
        ("*batch features", "*batch features"),
        ("...", "*batch features"),
    ],
)
def test_a_tree_beside_arrays_has_axes_that_fit_theirs(shape: str, tree: str):
    text = BLOCK.replace('Float["..."]', f'Float["{shape}"]')
    text = text.replace('mask: Bool["..."]', "mask: PyTree").replace("Bool,", "PyTree,")
    text = text.replace("BODY", "return self.first(x)")
    text = generated(text)
    drawn = [ast.literal_eval(n) for n in ast.walk(ast.parse(text)) if _is_drawn(n)]
    assert [d["mask"] for d in drawn] == [tree]


def _is_drawn(node: ast.AST) -> bool:
    """Whether a node says the shapes of inputs."""
    return isinstance(node, ast.Dict) and "mask" in (
        k.value for k in node.keys if isinstance(k, ast.Constant)
    )


def test_each_tree_is_given_that_may_not_be_left_out():
    text = BLOCK.replace("BODY", "return self.first(x) + self.first(mask)")
    for old in ('Float["..."]', 'Bool["..."] | None = None'):
        text = text.replace(old, "PyTree").replace("Bool, Float", "PyTree")
    assert 'x=(shapes.array("x"), shapes.array("mask")),' in generated(text)
