"""What `examples` give the shapes of."""

from __future__ import annotations

import pytest

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.docs.example import example

SPEC = '''\
from mlax_scaffold.spec import Float, Layer


class Given(Layer):
    """A spec of a test."""

    examples = ({{"{name}": (2, 3), {more}}},)

    def forward(self, {name}: Float["batch features"]):
        return {name}
'''


def read(name: str, more: str = "") -> Definition:
    text = SPEC.format(name=name, more=more)
    [definition] = read_library((SpecFile("specs/nn/given.py", "nn", text),), ())
    return definition


@pytest.mark.parametrize("name", ["x", "y"])
def test_an_input_has_its_shape_whatever_it_is_called(name: str):
    definition = read(name)
    assert definition.given_shapes == {name: (2, 3)}
    assert definition.result_shape is None


def test_y_is_the_result_where_no_input_is_called_so():
    definition = read("x", '"y": (2, 3)')
    assert definition.given_shapes == {"x": (2, 3)}
    assert definition.result_shape == (2, 3)


def test_a_part_of_an_input_has_its_shape():
    text = SPEC.format(name="x", more='"h[0]": (2, 4), "h[1]": (2, 5)')
    text = text.replace(
        'features"]):', 'features"], h: tuple[Float["batch a"], Float["batch b"]]):'
    )
    library = read_library((SpecFile("specs/nn/given.py", "nn", text),), ())
    [definition] = library
    assert definition.given_shapes == {"x": (2, 3), "h[0]": (2, 4), "h[1]": (2, 5)}
    arrays = "(jnp.ones((2, 4), jnp.bfloat16), jnp.ones((2, 5), jnp.bfloat16),)"
    assert arrays in example(definition, library, "net")
