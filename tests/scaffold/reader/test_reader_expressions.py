"""Expressions of a spec: read once, with what their names stand for and where they stand."""

from __future__ import annotations

import pytest
from tests.library import library

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.expressions import Expression, Origin
from mlax_scaffold.reader.specs import read_spec

TEXT = '''import math

import jax.numpy as jnp

from mlax_scaffold.spec import Float, Initializer, Layer, Size, lecun_normal, state
from mlax_scaffold.spec import trainable, zeros
from specs.nn.linear import Linear

SCALE = 2.0


def doubled(n):
    return 2 * n


class Example(Layer):
    """A spec of a test."""

    features: Size
    width: float = SCALE * math.pi
    kernel_initializer: Initializer = lecun_normal()

    def setup(self):
        size = doubled(self.features)
        features = self.features
        if size > 8:
            raise ValueError("too wide")
        elif size < 2 or features == 1:
            raise ValueError("too narrow")
        self.half = size // 2
        self.weight = trainable(lambda k, s, d=jnp.float32: zeros(k, s, d), (size,))
        self.mean = state(zeros, (self.half,)) if self.kernel_initializer else None
        self.map = Linear(features, size)

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x
'''


@pytest.fixture(scope="module")
def definition() -> Definition:
    definition, findings = read_spec("specs/nn/example.py", TEXT)
    assert definition is not None, findings
    return definition


def origins(expression: Expression | None) -> dict[str, Origin]:
    assert expression is not None
    return {name.text: name.origin for name in expression.names}


def test_names_stand_for_what_they_are(definition: Definition):
    weight, mean = definition.declarations[1:3]
    assert origins(definition.hyperparameters[1].default) == {"math": Origin.IMPORT}
    assert origins(weight.initializer) == {
        **dict.fromkeys("ksd", Origin.LOCAL),
        "jnp": Origin.IMPORT,
        "zeros": Origin.WORD,
    }
    assert origins(weight.shape) == {"size": Origin.LOCAL}
    assert origins(mean.shape) == {"half": Origin.DERIVED}
    assert origins(mean.condition) == {"kernel_initializer": Origin.INITIALIZER}
    bindings = dict(definition.bindings)
    assert origins(bindings["size"]) == {
        "doubled": Origin.HELPER,
        "features": Origin.HYPERPARAMETER,
    }


def test_a_local_is_another_name_than_the_attribute(definition: Definition):
    [first, second] = definition.requirements
    assert origins(second.condition)["features"] is Origin.LOCAL
    expanded = definition.expanded(second.violation or second.condition)
    assert expanded.reads(Origin.LOCAL) == set()
    assert expanded.reads(Origin.HYPERPARAMETER) == {"features"}
    assert first.condition.text == "not size > 8"


def test_what_always_holds_is_no_requirement():
    text = (
        "from mlax_scaffold.spec import Float, Layer, require\n\n\n"
        'class Example(Layer):\n    """A spec."""\n\n'
        '    def setup(self):\n        require(True, "always")\n\n'
        '    def forward(self, x: Float["..."]) -> Float["..."]:\n'
        '        require(True, "always")\n        return x\n'
    )
    definition, problems = read_spec("specs/nn/example.py", text, [])
    assert definition is not None, problems
    assert not definition.requirements


def test_the_tests_before_an_elif_did_not_hold(definition: Definition):
    violation = definition.requirements[1].violation
    assert violation is not None
    assert violation.text == "not size > 8 and (size < 2 or features == 1)"


def test_an_expression_knows_its_place(definition: Definition):
    shape = definition.declarations[1].shape
    assert shape is not None
    assert shape.location is not None
    line = TEXT.split("\n")[shape.location.line - 1]
    assert line[shape.location.column - 1 :].startswith("(size,)")


def test_expressions_are_values(definition: Definition):
    again, _ = read_spec("specs/nn/other.py", f"\n\n{TEXT}")
    assert again is not None
    assert again.declarations == definition.declarations
    assert hash(again.declarations) == hash(definition.declarations)
    assert {e.text for _, e in definition.bindings} == {
        "doubled(self.features)",
        "self.features",
    }


def test_the_text_is_what_the_tree_says():
    """What `plain` and `expanded` give is what they are given, where nothing is to be replaced."""
    for own in library():
        for declaration in own.declarations:
            for found in (declaration.shape, declaration.initializer):
                if found is not None and not found.names:
                    assert found.plain == found.text
                    assert own.expanded(found) is found


def test_every_name_of_the_library_is_resolved():
    unknown = {
        (own.name, name.text)
        for own in library()
        for declaration in own.declarations
        for found in (
            declaration.initializer,
            declaration.shape,
            declaration.value,
            declaration.dtype,
            declaration.condition,
        )
        for name in (() if found is None else found.names)
        if name.origin is Origin.UNKNOWN
    }
    assert not unknown
