"""A layer that is based on another one is read as the layer that it stands for."""

from __future__ import annotations

import pytest

from mlax_scaffold.reader.files import LIBRARY_SPECS
from mlax_scaffold.reader.specs import read_spec, read_specs

HEAD = """import jax

from mlax_scaffold.spec import Float, Positive
from mlax_scaffold.specs.nn.glu import GLU


class Example(GLU):
    \"\"\"A spec of a test.\"\"\"

"""


def read(body: str):
    definition, problems = read_spec("specs/nn/example.py", HEAD + body, ["gelu"])
    return definition, [str(p) for p in problems]


def test_fields_keep_their_places_and_new_ones_follow():
    definition, problems = read(
        "    activation = jax.nn.relu\n"
        "    use_bias: bool = False  #: whether biases are added\n"
        "    factor: Positive = 2.0  #: of the result\n"
    )
    assert definition is not None, problems
    names = [h.name for h in definition.hyperparameters]
    assert names == ["in_features", "out_features", "use_bias", "factor", "precision"]
    defaults = {
        h.name: h.default and h.default.text for h in definition.hyperparameters
    }
    assert defaults["use_bias"] == "False"
    assert [d.name for d in definition.declarations] == ["gate", "value"]
    assert "jax.nn.relu(self.gate(x))" in definition.core


def test_setup_begins_with_that_of_the_base():
    definition, problems = read(
        "    def setup(self):\n"
        "        super().setup()\n"
        "        self.other = trainable(zeros, (self.out_features,))\n"
    )
    assert definition is None
    assert any(
        "example.py:12:" in p and "`trainable` is not defined" in p for p in problems
    ), problems


def test_a_static_method_may_be_the_function_of_a_name():
    text = (
        "import jax\n\nfrom mlax_scaffold.spec import Float, Layer\n\n\n"
        'class Gate(Layer):\n    """A spec of a test."""\n\n'
        "    activation = staticmethod(jax.nn.tanh)\n\n"
        '    def forward(self, x: Float["..."]) -> Float["..."]:\n'
        "        return self.activation(x)\n"
    )
    definition, problems = read_spec("specs/nn/gate.py", text, [])
    assert definition is not None, problems
    assert "return jax.nn.tanh(x)" in definition.core


def test_families_are_one_expression_apart():
    for name in ("re_glu", "swi_glu", "min_pool"):
        text = (LIBRARY_SPECS / "nn" / f"{name}.py").read_text(encoding="utf-8")
        assert "def forward" not in text
        definition, problems = read_spec(
            f"specs/nn/{name}.py", text, ["max_pool", "min_pool"]
        )
        assert definition is not None, problems
        assert definition.method("forward") is not None


DERIVED = '''\
import jax

from mlax_scaffold.spec import Float, Layer


@jax.custom_vjp
def signs(x):
    return x


def forth(x):
    return signs(x), x


def back(x, g):
    return (g,)


signs.defvjp(forth, back)


class Base(Layer):
    """A spec of a test."""

    def forward(self, x: Float["..."]) -> Float["..."]:
        return signs(x)
'''
OTHER = '''\
class Other(Base):
    """Another one."""

    def forward(self, x: Float["..."]) -> Float["..."]:
        return signs(x) * 2.0
'''


def test_rules_of_derivatives_come_with_their_functions():
    same, problems = read_specs("specs/nn/example.py", f"{DERIVED}\n\n{OTHER}")
    assert [d.name for d in same] == ["Base", "Other"], problems
    files = {("nn", "base"): DERIVED}
    text = f"from specs.nn.base import Base\n\n\n{OTHER}"
    found, problems = read_specs("specs/nn/example.py", text, files=files)
    assert [d.name for d in found] == ["Other"], problems
    rules = [helper.name for helper in found[0].helpers]
    assert "signs" in rules
    assert found[0].core.count("@jax.custom_vjp") == 1


@pytest.mark.parametrize(
    ("given", "returned", "is_same"),
    [
        ("x", "2.0 * super().forward(x)", True),
        ("x", "super().forward(x), x", False),
        ("x, *, where=None", "super().forward(x)", False),
    ],
)
def test_a_method_has_the_types_of_the_base(given, returned, is_same):
    definition, problems = read(
        f"    def forward(self, {given}):\n        return {returned}\n"
    )
    base, _ = read_specs(
        "specs/nn/glu.py", (LIBRARY_SPECS / "nn/glu.py").read_text(encoding="utf-8")
    )
    known = base[-1].entry
    if "where" in given:
        assert any("`where` needs the type" in p for p in problems), problems
        return
    assert definition is not None, problems
    assert definition.entry.inputs[0].type == known.inputs[0].type
    assert (definition.entry.returns == known.returns) is is_same


def test_a_method_without_an_input_of_the_base_has_its_types():
    text = (
        "from mlax_scaffold.specs.nn.rms_norm import RMSNorm\n\n\n"
        'class Example(RMSNorm):\n    """A spec of a test."""\n\n'
        "    def forward(self, x):\n        return 2.0 * super().forward(x)\n"
    )
    definition, problems = read_spec("specs/nn/example.py", text, ["rms_norm"])
    assert definition is not None, problems
    base, _ = read_specs(
        "specs/nn/rms_norm.py",
        (LIBRARY_SPECS / "nn/rms_norm.py").read_text(encoding="utf-8"),
        ["rms_norm"],
    )
    known = base[-1].entry.returns
    assert known is not None
    assert definition.entry.returns == known


CHAIN = """from mlax_scaffold.spec import Float, Layer, Size, trainable, zeros
from mlax_scaffold.specs.nn.dropout import Dropout


class First(Layer):
    '''A layer.'''

    features: Size  #: of the input

    def setup(self):
        self.bias = trainable(zeros, (self.features,))
        self.dropout = Dropout(0.5)

    def mixed(self, x):
        return self.dropout(x + self.bias)

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return self.mixed(x)


class Second(First):
    '''A layer.'''

    def mixed(self, x):
        return super(Second, self).mixed(-x)


class Third(Second):
    '''A layer.'''

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return super().forward(x) + super().forward(2.0 * x)
"""


def test_methods_of_the_base_are_called_by_super():
    definitions, problems = read_specs("specs/nn/third.py", CHAIN, foreign=True)
    assert not problems
    *_, third = definitions
    names = {m.name for m in third.methods}
    own = {"setup", "forward", "mixed"}
    assert names == {*own, "_mixed_of_first", "_forward_of_second"}
    assert "self._forward_of_second(2.0 * x)" in third.core


@pytest.mark.parametrize(
    ("given", "handed", "inputs", "called"),
    [
        ("*args, **kwargs", "*args, **kwargs", ["x", "y", "z"], "x, y=y, z=z"),
        ("z, **kw", "z, **kw", ["z", "y", "z"], "z, y=y, z=z"),
        ("x, **kw", "x, **kw", ["x", "y", "z"], "x, y=y, z=z"),
        ("*rest", "*rest", ["x", "y"], "x, y"),
        ("x, y, *rest", "x, 2.0 * y, *rest", ["x", "y"], "x, 2.0 * y"),
        ("*args", "args", None, ""),
    ],
)
def test_inputs_that_are_handed_on_are_those_of_the_base(given, handed, inputs, called):
    array = 'Float["*batch"]'
    text = (
        "from mlax_scaffold.spec import Float, Layer\n\n\n"
        'class First(Layer):\n    """A layer."""\n\n'
        f"    def forward(self, x: {array}, y: {array} | None = None, *, "
        f"z: {array} | None = None) -> {array}:\n        return x\n\n\n"
        'class Example(First):\n    """A layer."""\n\n'
        f"    def forward(self, {given}):\n"
        f"        return 2.0 * super().forward({handed})\n"
    )
    definitions, problems = read_specs("specs/nn/example.py", text, foreign=True)
    if inputs is None or len({*inputs}) < len(inputs):
        assert problems
        return
    assert not problems
    assert [i.name for i in definitions[-1].entry.inputs] == inputs
    assert f"self._forward_of_first({called})" in definitions[-1].core
    assert definitions[-1].entry.returns == definitions[0].entry.returns


def test_a_block_hands_the_keyword_inputs_of_its_layers_to_the_base():
    head = "from mlax_scaffold.spec import Block, PyTree, SubLayer\n\n\n"
    inputs = "    def forward(self, x: PyTree, **inputs: PyTree) -> PyTree:\n"
    text = (
        f"{head}class First(Block):\n    'A block.'\n\n    layer: SubLayer  #: a layer\n\n"
        f"{inputs}        return self.layer(x, **inputs)\n\n\n"
        f"class Second(First):\n    'A block.'\n\n"
        f"{inputs}        return super().forward(x, **inputs)\n"
    )
    definitions, problems = read_specs("specs/block/second.py", text, foreign=True)
    assert not problems
    assert "self._forward_of_first(x, **inputs)" in definitions[-1].core
    wrong = text.replace("super().forward(x, **inputs)", "super().forward(x, inputs)")
    _, problems = read_specs("specs/block/second.py", wrong, foreign=True)
    assert [p.location.line for p in problems] == [17]


def test_classes_that_are_based_on_each_other_are_read():
    chain = "".join(
        f"\n\nclass Deep{i}({f'Deep{i - 1}' if i else 'Layer'}):\n    'A layer.'\n\n"
        "    def forward(self, x: Float['*batch']) -> Float['*batch']:\n"
        f"        return {'super().forward(x) + 1.0' if i else 'x'}\n"
        for i in range(8)
    )
    head = "from mlax_scaffold.spec import Float, Layer\n"
    definitions, problems = read_specs("specs/nn/deep_7.py", head + chain, foreign=True)
    assert not problems
    assert len(definitions[-1].methods) == 8
    circle = chain.replace("Deep0(Layer)", "Deep0(Deep7)")
    _, problems = read_specs("specs/nn/deep_7.py", head + circle, foreign=True)
    assert problems
