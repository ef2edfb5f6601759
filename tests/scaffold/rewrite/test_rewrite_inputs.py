"""Inputs of any name and number, with defaults: `fwd` keeps its signature."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.spec.layer import Layer
from mlax_scaffold.testing.compare import assert_matches

HEAD = """
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, Int, Key, Layer, PyTree, Size, ones
from mlax_scaffold.spec import softmax, trainable


"""
SPECS = {
    "tokens": '''
class Tokens(Layer):
    """One input, of another name than x, which is the name of a local."""

    features: Size

    def setup(self):
        self.scale = trainable(ones, (self.features,))

    def forward(self, tokens: Float["*batch features"]):
        x = tokens * self.scale
        return x + 1
''',
    "tree": '''
class Tree(Layer):
    """A tree of another name."""

    def forward(self, state: PyTree) -> PyTree:
        return jax.tree.map(lambda x: 2 * x, state)
''',
    "maybe": '''
class Maybe(Layer):
    """One input that may be None."""

    def forward(self, carry: Float["..."] | None) -> Float["..."]:
        return jnp.ones(3) if carry is None else carry + 1
''',
    "attention": '''
class Attention(Layer):
    """Inputs that are called like parameters of `fwd`, and one called x."""

    features: Size

    def setup(self):
        self.scale = trainable(ones, (self.features,))

    def forward(
        self,
        query: Float["n features"],
        key: Float["m features"],
        x: Float["m features"],
        mask: Bool["n m"] | None = None,
        bias: Float["n m"] | None = None,
    ) -> Float["n features"]:
        logits = jnp.einsum("nd,md->nm", query * self.scale, key)
        if mask is not None:
            logits = jnp.where(mask, logits, -1.0)
        if bias is not None:
            logits = logits + bias
        key = softmax(logits)
        return key @ x
''',
    "head": '''
class Head(Layer):
    """Integers beside floating numbers, and an input that has no default."""

    classes: Size

    def setup(self):
        self.table = trainable(ones, (self.classes,))

    def forward(self, labels: Int["batch"], x: Float["batch"], *, shift: Float["batch"]):
        return self.table[labels] * x + shift
''',
    "told": '''
class Told(Layer):
    """Indices, and numbers that may be None: where they are given, they say the dtype."""

    classes: Size

    def setup(self):
        self.table = trainable(ones, (self.classes,))

    def forward(self, labels: Int["batch"], shift: Float["batch"] | None = None):
        y = self.table[labels]
        return y if shift is None else y + shift
''',
    "pair": '''
class Pair(Layer):
    """Indices, and a pair that may be None: where it is given, it says the dtype."""

    classes: Size

    def setup(self):
        self.table = trainable(ones, (self.classes,))

    def forward(
        self, labels: Int["n"], pair: tuple[Float["n"], Float["n"]] | None = None
    ):
        y = self.table[labels]
        return y if pair is None else y + pair[0] * pair[1]
''',
    "several": '''
class Several(Layer):
    """Indices, and any number of arrays, which may be none."""

    classes: Size

    def setup(self):
        self.table = trainable(ones, (self.classes,))

    def forward(self, labels: Int["n"], shifts: tuple[Float["n"], ...]):
        y = self.table[labels]
        for shift in shifts:
            y = y + shift
        return y
''',
    "memories": '''
class Memories(Layer):
    """Indices, and any number of arrays or None."""

    classes: Size

    def setup(self):
        self.table = trainable(ones, (self.classes,))

    def forward(self, labels: Int["n"], shifts: tuple[Float["n"], ...] | None = None):
        y = self.table[labels]
        for shift in shifts or ():
            y = y + shift
        return y
''',
    "pairs": '''
class Pairs(Layer):
    """Any number of pairs."""

    def forward(self, x: Float["n"], pairs: tuple[tuple[Float["n"], Float["n"]], ...]):
        for scale, shift in pairs:
            x = x * scale + shift
        return x
''',
    "outer": '''
from specs.nn.attention import Attention


class Outer(Layer):
    """A sub-layer whose inputs with a default are given by place, by name, and not at all."""

    features: Size

    def setup(self):
        self.first = Attention(self.features)
        self.others = [Attention(self.features) for _ in range(2)]

    def forward(self, x: Float["n features"], mask: Bool["n n"]):
        y = self.first(x, x, x, mask)
        for layer in self.others:
            y = layer(y, x, x, mask, bias=jnp.ones(mask.shape, x.dtype))
        return self.first(y, x, x) + self.first(y, y, y, mask, y @ y.T)
''',
}
X = jnp.arange(6.0).reshape(3, 2) / 4
MASK = jnp.eye(3, dtype=bool)
CALLS: list[tuple[str, dict[str, Any], Any, dict[str, Any]]] = [
    ("tokens", {"features": 2}, X, {}),
    ("tree", {}, {"a": X, "b": [X]}, {}),
    ("maybe", {}, X, {}),
    ("maybe", {}, None, {}),
    ("attention", {"features": 2}, (X, X + 1, X), {}),
    ("attention", {"features": 2}, (X, X + 1, X), {"mask": MASK}),
    ("attention", {"features": 2}, (X, X + 1, X), {"mask": MASK, "bias": X @ X.T}),
    ("head", {"classes": 4}, (jnp.arange(3), X[:, 0]), {"shift": X[:, 1]}),
    ("told", {"classes": 4}, jnp.arange(3), {}),
    ("told", {"classes": 4}, jnp.arange(3), {"shift": X[:, 1]}),
    ("pair", {"classes": 4}, jnp.arange(3), {}),
    ("pair", {"classes": 4}, jnp.arange(3), {"pair": (X[:, 0], X[:, 1])}),
    ("several", {"classes": 4}, (jnp.arange(3), (X[:, 0], X[:, 1])), {}),
    ("several", {"classes": 4}, (jnp.arange(3), ()), {}),
    ("memories", {"classes": 4}, jnp.arange(3), {}),
    ("memories", {"classes": 4}, jnp.arange(3), {"shifts": ()}),
    ("memories", {"classes": 4}, jnp.arange(3), {"shifts": (X[:, 0],)}),
    ("pairs", {}, (X[:, 0], ((X[:, 0], X[:, 1]),) * 3), {}),
    ("outer", {"features": 2}, (X, MASK), {}),
]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    specs = [SpecFile(f"specs/nn/{n}.py", "nn", HEAD + t) for n, t in SPECS.items()]
    with importable(specs, words, tmp_path_factory.mktemp("inputs")) as made:
        yield made


@pytest.mark.parametrize(("name", "fields", "x", "inputs"), CALLS)
def test_equals_the_spec(examples: Examples, name, fields, x, inputs):
    module = examples.module("nn", name)
    layer: Layer = examples.oracle("nn", name)(**fields)
    takes_key = "key" in inspect.signature(module.init).parameters
    key = (jax.random.key(0),) if takes_key else ()
    trainables, non_trainables, hyperparams = module.init(*key, **fields)
    layer.load(trainables, non_trainables)
    y, _ = module.fwd(x, trainables, non_trainables, hyperparams, **inputs)
    assert_matches(layer(x, **inputs), y, jnp.float32)


@pytest.mark.parametrize("name", SPECS)
def test_fwd_keeps_its_signature(examples: Examples, name: str):
    parameters = inspect.signature(examples.module("nn", name).fwd).parameters
    first = ["x", "trainables", "non_trainables", "hyperparams", "inference_mode"]
    assert list(parameters)[:6] == [*first, "key"]
    rest = list(parameters.values())[6:]
    assert {p.kind for p in rest} <= {inspect.Parameter.KEYWORD_ONLY}


def test_names_of_keyword_inputs_are_those_of_the_spec(examples: Examples):
    attention = examples.module("nn", "attention")
    assert attention.AttentionHyperparams.keyword_inputs == ("mask", "bias")
    parameters = inspect.signature(examples.module("nn", "head").fwd).parameters
    assert parameters["shift"].default is inspect.Parameter.empty


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32])
def test_numbers_that_may_be_none_say_the_dtype_where_they_are_given(
    examples: Examples, dtype
):
    module = examples.module("nn", "told")
    layer = module.init(jax.random.key(0), classes=4, dtype=jnp.float16)
    y, _ = module.fwd(jnp.arange(3), *layer, shift=X[:, 1].astype(dtype))
    assert y.dtype == dtype
    assert module.fwd(jnp.arange(3), *layer)[0].dtype == jnp.float16


@pytest.mark.parametrize(
    ("name", "x", "inputs"),
    [
        ("pair", jnp.arange(3), {"pair": (X[:, 0], X[:, 1])}),
        ("several", (jnp.arange(3), (X[:, 0], X[:, 1])), {}),
        ("memories", jnp.arange(3), {"shifts": (X[:, 0],)}),
    ],
)
def test_tuples_that_may_be_none_or_empty_say_the_dtype_where_they_are_given(
    examples: Examples, name: str, x, inputs
):
    module = examples.module("nn", name)
    layer = module.init(jax.random.key(0), classes=4, dtype=jnp.float32)
    x, inputs = jax.tree.map(
        lambda a: a.astype(jnp.bfloat16) if a.dtype == jnp.float32 else a, (x, inputs)
    )
    y, _ = module.fwd(x, *layer, **inputs)
    assert y.dtype == jnp.bfloat16


def test_messages_name_inputs_as_the_spec_does(examples: Examples):
    module = examples.module("nn", "attention")
    layer = module.init(jax.random.key(0), 2)
    with pytest.raises(TypeError, match="Attention: key must be a floating array"):
        module.fwd((X, jnp.ones((3, 2), int), X), *layer)
    tokens = examples.module("nn", "tokens")
    with pytest.raises(ValueError, match="Tokens: tokens"):
        tokens.fwd(X.T, *tokens.init(jax.random.key(0), 2))
