"""A spec runs as the stateful object that it looks like."""

import inspect
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle_library import SPECS, spec

from mlax_scaffold.errors import UsageError
from mlax_scaffold.model.definition import Kind
from mlax_scaffold.model.spec_names import runs_specs
from mlax_scaffold.spec.block import Block
from mlax_scaffold.spec.layer import Layer
from mlax_scaffold.spec.loading import load
from mlax_scaffold.spec.optimizer import Optimizer
from mlax_scaffold.spec.schedule import Schedule

KEY = jax.random.key(7)


@pytest.fixture
def written(tmp_path):
    """Writes a spec, and gives back its definition."""

    def write(words: str, text: str) -> Any:
        path = tmp_path / "written.py"
        path.write_text(f"from mlax_scaffold.spec import {words}\n{text}")
        return load(path, root=tmp_path)

    return write


def test_a_spec_is_executed_once_until_its_file_changes(written):
    text = "class Twice(Layer):\n    def forward(self, x: Float['n']):\n        return x * %d\n"
    first = written("Float, Layer", text % 2)
    # What a class declares is known by class: another one would be analyzed anew.
    assert written("Float, Layer", text % 2) is first
    assert float(written("Float, Layer", text % 3)()(jnp.ones(1))[0]) == 3.0
    assert float(written("Float, Layer", text % 2)()(jnp.ones(1))[0]) == 2.0


def test_importing_the_words_does_not_import_jax():
    code = "import sys, mlax_scaffold.spec; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_the_base_classes_have_names_no_method_of_a_spec():
    layer, optimizer = spec("nn/batch_norm")(3), spec("optim/adam")(0.1)
    layer.initialize(KEY)
    layer(jnp.ones((2, 3)))
    optimizer.initialize({"bias": jnp.ones(3)})
    schedule = spec("schedule/constant")(0.1)
    own = {
        Kind.LAYER: (Layer, layer),
        Kind.BLOCK: (Block, layer),
        Kind.OPTIMIZER: (Optimizer, optimizer),
        Kind.SCHEDULE: (Schedule, schedule),
    }
    for kind, (base, instance) in own.items():
        holders = [*base.__mro__[:-1], instance]
        names = {name for holder in holders for name in vars(holder)}
        names |= {n for c in holders[:-1] for n in inspect.get_annotations(c)}
        private = {n for n in names if n[0] == "_" and not n.startswith("__")}
        assert all(runs_specs(kind, name) for name in private)


def test_each_declaration_has_a_key_of_its_own():
    layer = spec("nn/linear")(4, 3)
    layer.initialize(KEY)
    first, _ = jax.random.split(KEY)
    expected = jax.nn.initializers.lecun_normal()(first, (4, 3))
    np.testing.assert_array_equal(layer.trainables["kernel"], expected)


def test_a_state_may_have_the_name_of_what_every_layer_offers(written):
    definition = written(
        "Float, Layer, state, zeros, ones",
        """
class Example(Layer):
    \"\"\"Counts.\"\"\"

    def setup(self):
        self.initialized = state(zeros, ())
        self.load = state(ones, (2,))

    def forward(self, x: Float["n"]) -> Float["n"]:
        self.initialized = self.initialized + 1
        return x * self.load + self.initialized
""",
    )
    layer = definition()
    Layer.initialize(layer, KEY)
    assert layer(jnp.ones(2)).tolist() == [2.0, 2.0]
    assert layer.non_trainables["initialized"] == 1.0


def test_a_declaration_that_is_not_made_keeps_its_key():
    with_bias, without = spec("nn/linear")(4, 3), spec("nn/linear")(4, 3, False)
    with_bias.initialize(KEY)
    without.initialize(KEY)
    np.testing.assert_array_equal(
        with_bias.trainables["kernel"], without.trainables["kernel"]
    )
    assert without.trainables["bias"] is None


def test_a_weight_that_is_declared_in_two_ways_is_made(written):
    text = """class Example(Layer):
    wide: bool = False

    def setup(self):
        self.first = trainable(ones, (3,))
        self.map = trainable(ones, (3, 2)) if self.wide else trainable(zeros, (3,))

    def forward(self, x: Float['3']):
        return x @ self.map
"""
    definition = written("Float, Layer, ones, trainable, zeros", text)
    for wide, shape in ((True, (3, 2)), (False, (3,))):
        layer = definition(wide=wide)
        layer.initialize(KEY)
        assert layer.trainables["map"].shape == shape
        assert layer(jnp.ones(3)).shape == shape[1:]


def test_a_single_declaration_takes_the_key_itself():
    layer = spec("nn/embed")(5, 2)
    layer.initialize(KEY, jnp.float16)
    initializer = jax.nn.initializers.variance_scaling(
        1.0, "fan_in", "normal", out_axis=0
    )
    expected = initializer(KEY, (5, 2), jnp.float16)
    np.testing.assert_array_equal(layer.trainables["embedding"], expected)


def test_sub_layers_are_initialized_with_their_keys_and_the_dtype():
    layer = spec("nn/multi_head_attention")(4, 2)
    layer.initialize(KEY, jnp.bfloat16)
    value = spec("nn/linear")(4, 4)
    value.initialize(jax.random.split(KEY, 4)[2], jnp.bfloat16)
    kernel = layer.trainables["to_value"]["kernel"]
    assert kernel.dtype == jnp.bfloat16
    np.testing.assert_array_equal(kernel, value.trainables["kernel"])


def test_initializers_are_replaced_by_name():
    layer = spec("nn/linear")(4, 3)
    layer.initialize(KEY, kernel_initializer=jax.nn.initializers.ones)
    assert float(layer(jnp.ones(4))[0]) == 4.0
    with pytest.raises(TypeError, match="weight_initializer"):
        layer.initialize(KEY, weight_initializer=jax.nn.initializers.ones)


def test_training_updates_the_state_and_inference_reads_it():
    layer = spec("nn/batch_norm")(1, momentum=0.75)
    layer.initialize(KEY)
    x = jnp.array([[1.0], [3.0]])
    layer(x, training=False)
    assert float(layer.non_trainables["mean"][0]) == 0.0
    layer(x)
    assert float(layer.non_trainables["mean"][0]) == 0.5
    assert float(layer.non_trainables["var"][0]) == 1.0


def test_trees_are_loaded_by_name_from_any_object():
    layer = spec("nn/linear")(2, 1)
    kernel, bias = jnp.array([[1.0], [2.0]]), jnp.array([3.0])
    layer.load(SimpleNamespace(kernel=kernel, bias=bias))
    assert float(layer(jnp.ones(2))[0]) == 6.0
    layer.load({"kernel": kernel, "bias": None})
    assert layer.trainables["bias"] is None


def test_key_consumers_are_numbered_by_their_place_in_the_text(written):
    definition = written(
        "Float, Layer",
        '''
import jax


class Noise(Layer):
    """Two draws; the first one only where asked."""

    first: bool

    def forward(self, x: Float["..."]) -> Float["..."]:
        a = jax.random.normal(self.key()) if self.first else 0.0
        return a + jax.random.normal(self.key())
''',
    )
    keys = jax.random.split(KEY, 2)
    second = jax.random.normal(keys[1])
    assert definition(False)(jnp.zeros(()), True, KEY) == second
    both = jax.random.normal(keys[0]) + second
    assert definition(True)(jnp.zeros(()), True, KEY) == both


def test_a_single_consumer_takes_the_key_itself():
    x = jnp.ones(100)
    expected = spec("functional/dropout")(x, KEY, rate=0.5)
    np.testing.assert_array_equal(spec("nn/dropout")(0.5)(x, True, KEY), expected)


def test_only_sub_layers_that_draw_are_consumers(written):
    definition = written(
        "Float, Layer",
        '''
from mlax_scaffold.specs.nn.dropout import Dropout
from mlax_scaffold.specs.nn.linear import Linear


class Net(Layer):
    """One consumer: the dropout in the middle."""

    def setup(self):
        self.before = Linear(3, 3)
        self.dropout = Dropout(0.5)
        self.after = Linear(3, 3)

    def forward(self, x: Float["*batch 3"]) -> Float["*batch 3"]:
        return self.after(self.dropout(self.before(x)))
''',
    )
    layer = definition()
    layer.initialize(KEY)
    x = jnp.ones((20, 3))
    assert sorted(layer.trainables) == ["after", "before"]
    weights = layer.trainables["before"]["kernel"]
    after = spec("nn/linear")(3, 3)
    after.load(layer.trainables["after"])
    dropped = spec("functional/dropout")(x @ weights, KEY, rate=0.5)
    np.testing.assert_allclose(layer(x, True, KEY), after(dropped), rtol=1e-6)


def test_a_missing_key_is_an_error_that_says_what_to_pass():
    with pytest.raises(ValueError, match=r"Dropout draws .* pass key=jax.random.key"):
        spec("nn/dropout")(0.5)(jnp.ones(3), training=True)


def test_a_second_entry_point_casts_as_the_first():
    layer = spec("nn/embed")(5, 2)
    layer.initialize(KEY)
    assert layer(jnp.arange(3)).dtype == jnp.float32
    logits = layer.attend(jnp.ones((3, 2), jnp.bfloat16))
    assert logits.shape == (3, 5)
    assert logits.dtype == jnp.bfloat16


def test_requirements_and_words_are_checked():
    with pytest.raises(ValueError, match="heads must divide features"):
        spec("nn/multi_head_attention")(4, 3)
    with pytest.raises(
        ValueError, match=r"Linear: in_features must be .* at least 1, got 0"
    ):
        spec("nn/linear")(0, 3)
    with pytest.raises(ValueError, match="2 of them"):
        spec("nn/conv")(2, 1, 1, (3, 3, 3))


def test_only_states_are_assigned(written):
    definition = written(
        "Float, Layer, trainable, zeros",
        '''
class Bad(Layer):
    """Assigns a weight."""

    def setup(self):
        self.bias = trainable(zeros, ())

    def forward(self, x: Float["..."]) -> Float["..."]:
        self.bias = x
        return x
''',
    )
    layer = definition()
    layer.initialize(KEY)
    with pytest.raises(AttributeError, match="bias is no state"):
        layer(jnp.zeros(()))


def test_of_several_definitions_the_last_is_built_on_the_others(written):
    given = written("Layer", "class A(Layer): ...\nclass B(Layer): ...\n")
    assert given.__name__ == "B"


def test_a_module_without_a_definition_is_no_spec(written):
    with pytest.raises(UsageError, match=r"written\.py holds no definition"):
        written("Layer", "LIMIT = 3\n")


def test_every_function_is_a_word_and_known_to_type_checkers():
    import mlax_scaffold.spec as words

    text = (SPECS.parent / "spec" / "__init__.py").read_text()
    for path in (SPECS / "functional").glob("*.py"):
        assert callable(getattr(words, path.stem))
        assert f"{path.stem} as {path.stem}" in text
    with pytest.raises(AttributeError, match="softmx"):
        _ = words.softmx  # pyright: ignore[reportAttributeAccessIssue]


OF_BASES = """from mlax_scaffold.specs.nn.dropout import Dropout


class First(Layer):
    features: Size

    def setup(self):
        self.scale = trainable(ones, (self.features,))
        self.count = state(zeros, ())
        self.dropout = Dropout(0.5)

    def mixed(self, x):
        return self.dropout(3.0 * x * self.scale)

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        self.count = self.count + 1.0
        return self.mixed(x)


class Second(First):
    def mixed(self, x):
        return super(Second, self).mixed(-x) + x


class Written(Second):
    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return super().forward(x) + super().forward(100.0 * x)
"""


def test_super_calls_methods_of_the_bases_with_keys_and_states_of_their_own(written):
    layer = written("Float, Layer, Size, ones, state, trainable, zeros", OF_BASES)(40)
    layer.initialize(KEY)
    x = jnp.ones((2, 40))
    np.testing.assert_allclose(layer(x, training=False), -2.0 * x - 200.0 * x)
    assert layer.count == 2.0
    y = np.asarray(layer(x, training=True, key=KEY))
    # Each call drops others: of -6 x + x and -600 x + 100 x, or x and 100 x.
    assert set(np.unique(y.round())) == {-505.0, -499.0, 95.0, 101.0}


HANDED = """
class Placed(Layer):
    features: Size

    def setup(self):
        self.scale = trainable(ones, (self.features,))

    def forward(
        self,
        x: Float["*batch features"],
        y: Float["*batch features"] | None = None,
        *,
        z: Float["*batch features"] | None = None,
    ) -> Float["*batch features"]:
        for other, factor in ((y, 10.0), (z, 100.0)):
            x = x if other is None else x + factor * other
        return x * self.scale


class HandedOn(Placed):
    def forward(self, *args, **kwargs):
        return 2.0 * super().forward(*args, **kwargs)


class HandedByName(HandedOn):
    def forward(self, inputs, **others):
        return 1.0 + super().forward(inputs, **others)
"""


def test_what_is_handed_to_the_base_has_its_inputs(written):
    x = jnp.ones((2, 3))
    words, one, _ = (
        "Float, Layer, Size, ones, trainable",
        *HANDED.split("class HandedByName"),
    )
    for text, more in ((one, 0.0), (HANDED, 1.0)):
        layer = written(words, text)(3)
        layer.initialize(jax.random.key(0))
        assert (layer(x) == 2.0 + more).all()
        assert (layer(x, y=x, z=x) == 222.0 + more).all()
        assert layer(x.astype(jnp.bfloat16)).dtype == jnp.bfloat16
        with pytest.raises(TypeError, match="takes no keyword inputs"):
            layer(x, w=x)
