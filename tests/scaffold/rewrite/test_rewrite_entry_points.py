"""Other entry points of sub-layers, `self.embed.attend(x)`: as generated code, eagerly, and by hand."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import as_dict, assert_runs_alike, assert_same, created
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

HEADER = '''
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Layer, Size, ones, state, trainable, zeros
from mlax_scaffold.specs.nn.dropout import Dropout
from mlax_scaffold.specs.nn.embed import Embed
from specs.nn.coder import Coder
from specs.nn.sided import Sided


class Example(Layer):
    """A spec of a test."""

'''
CODER = '''
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, ones, state, trainable, zeros


class Coder(Layer):
    """Draws and counts where it encodes, and takes two inputs where it decodes."""

    def setup(self):
        self.scale = trainable(ones, (3,))
        self.count = state(zeros, ())

    def encode(self, x: Float["..."], shift: Float["..."] | None = None) -> Float["..."]:
        self.count = self.count + 1.0
        y = x * self.scale + jax.random.normal(self.key(), x.shape, x.dtype)
        return y if shift is None else y + shift

    def decode(self, z: Float["..."], w: Float["..."]) -> Float["..."]:
        return z / (2.0 + jnp.square(w * self.scale)) + self.count

    def forward(self, x: Float["..."]) -> Float["..."]:
        return self.decode(self.encode(x), w=x)
'''
SIDED = '''
from mlax_scaffold.spec import Float, Layer, ones, trainable


class Sided(Layer):
    """Has no state and no key, and so can stand anywhere."""

    def setup(self):
        self.scale = trainable(ones, (3,))

    def back(self, x: Float["..."], y: Float["..."]) -> Float["..."]:
        return (x - y) * self.scale

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x * self.scale
'''
TIED = '''
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Layer, Size
from mlax_scaffold.specs.nn.embed import Embed


class Tied(Layer):
    """Logits by the table of the inputs."""

    vocabulary: Size
    features: Size

    def setup(self):
        self.embed = Embed(self.vocabulary, self.features)

    def forward(self, tokens: Int["n"], h: Float["n features"]) -> Float["n vocabulary"]:
        return self.embed.attend(jnp.tanh(self.embed(tokens) + h))
'''
LAYERS = {
    "in_statements": """
        def setup(self):
            self.coder = Coder()
            self.again = self.coder

        def _coded(self, x):
            z = self.coder.encode(x, x)
            return self.again.decode(w=x, z=z)

        def refine(self, x: Float["..."]) -> Float["..."]:
            return self.coder.encode(
                x,
                shift=x,  # twice
            )

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = self._coded(x) + self.coder.forward(x)
            return self.coder.decode(self.refine(y), self.coder.encode(x),)
        """,
    "in_containers": """
        def setup(self):
            self.coders = [Coder() for _ in range(2)]
            self.parts = {"a": Coder(), "b": [Coder(), Sided()]}

        def forward(self, x: Float["..."]) -> Float["..."]:
            zs = []
            for coder in self.coders:
                z = coder.encode(x)
                zs.append(z)
                x = coder.decode(z, z)
            for i, z in enumerate(zs):
                x = x + self.coders[i].decode(z, x)
            first, second = self.parts["b"]
            x = second.back(first.encode(x), self.parts["a"].encode(x))
            return sum([coder.encode(x) for coder in self.coders])
        """,
    "of_its_own": """
        def setup(self):
            self.table = trainable(ones, (5, 3))
            self.codes = state(ones, (5, 3))
            self.seen = state(zeros, ())

        def lookup(self, tokens: Int["..."]) -> Float["..."]:
            return self.table[tokens] + self.codes[tokens]

        def forward(self, x: Float["..."]) -> Float["..."]:
            self.seen = self.seen + 1.0
            found = [self.lookup(jnp.arange(i, i + 4)) for i in range(2)]
            return x + found[0] * found[1] + self.lookup(jnp.zeros(4, jnp.int32))
        """,
    "in_functions": """
        def setup(self):
            self.coder = Coder()
            self.sided = Sided()
            self.table = [Sided(), Sided()]

        def forward(self, x: Float["..."]) -> Float["..."]:
            def step(h, x):
                h = self.coder.encode(h) + x
                return h, self.sided.back(h, x)

            h, ys = jax.lax.scan(step, x[0], x)
            ys = ys + jax.vmap(self.sided.back)(x, x * 2.0)
            ys = ys + jax.vmap(lambda row: self.table[1].back(row, h))(x)
            return ys + sum(part.back(x, ys) for part in self.table)
        """,
}

CODING = """
    def setup(self):
        self.kernel = trainable(ones, (3, 3))
        self.sided = Sided()
        self.several = [Sided(), Sided()]

    def encode(self, x: Float["... 3"]) -> Float["... 3"]:
        return jax.nn.sigmoid(x @ self.kernel)

    def decode(self, x: Float["... 3"]) -> Float["... 3"]:
        return x @ self.kernel.T
"""
SHARED = {
    "shared_by_two": """
    def forward(self, x: Float["... 3"]) -> Float["... 3"]:
        return self.decode(self.encode(x))
""",
    "shared_with_forward": """
    def forward(self, x: Float["... 3"]) -> Float["... 3"]:
        return self.encode(x) @ self.kernel.T
""",
    "shared_by_calls": """
    def forward(self, x: Float["... 3"]) -> Float["... 3"]:
        return self.encode(self.encode(x))
""",
    "shared_below": """
    def _both(self, x):
        return self.decode(self.encode(x))

    def forward(self, x: Float["... 3"]) -> Float["... 3"]:
        return self._both(x)
""",
    "shared_layer": """
    def into(self, x: Float["... 3"]) -> Float["... 3"]:
        return self.sided(x)

    def back(self, x: Float["... 3"]) -> Float["... 3"]:
        return self.sided(x) * 2.0

    def forward(self, x: Float["... 3"]) -> Float["... 3"]:
        return self.back(self.into(x))
""",
    # The inner loop hands each layer once, the outer one hands all of them again.
    "shared_by_passes": """
    def _at(self, i, x):
        return self.several[i](x)

    def forward(self, x: Float["... 3"]) -> Float["... 3"]:
        for _ in range(2):
            for i in range(len(self.several)):
                x = self._at(i, x)
        return x
""",
}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    texts = {"coder": CODER, "sided": SIDED, "tied": TIED}
    for name, body in LAYERS.items():
        title = name.title().replace("_", "")
        inner = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
        texts[name] = HEADER.replace("class Example", f"class {title}") + inner + "\n"
    for name, body in SHARED.items():
        title = name.title().replace("_", "")
        texts[name] = HEADER.replace("class Example", f"class {title}") + CODING + body
    specs = [SpecFile(f"specs/nn/{n}.py", "nn", t) for n, t in texts.items()]
    with importable(specs, words, tmp_path_factory.mktemp("entries")) as made:
        yield made


def rows() -> jax.Array:
    return jax.random.normal(jax.random.key(7), (4, 3))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, training: bool, examples: Examples):
    module: Any = examples.module("nn", name)
    layer = examples.oracle("nn", name)()
    assert_runs_alike(module, layer, created(module), rows(), training)


def test_an_entry_point_that_calls_one(examples: Examples):
    module: Any = examples.module("nn", "in_statements")
    layer = examples.oracle("nn", "in_statements")()
    made = created(module)
    assert_runs_alike(module, layer, made, rows(), training=True, entry="refine")


def test_each_call_has_its_key_and_the_state_before_it(examples: Examples):
    module: Any = examples.module("nn", "in_statements")
    coder: Any = examples.module("nn", "coder")
    trainables, non_trainables, hyperparams = created(module)
    x, key = rows(), jax.random.key(5)
    y, new = module.refine(x, trainables, non_trainables, hyperparams, False, key)
    own = trainables.coder, non_trainables.coder, hyperparams.coder
    expected, state = coder.encode(x, *own, False, key, shift=x)
    assert_same(y, expected)
    assert_same(as_dict(new.coder), as_dict(state))
    y, new = module.fwd(x, trainables, non_trainables, hyperparams, False, key)
    # _coded, forward, refine and one more encode.
    assert new.coder.count == 4.0


@pytest.fixture
def tied(examples: Examples) -> Any:
    return examples.module("nn", "tied")


def test_tied_embeddings_by_hand(tied: Any):
    weights, _, hyperparams = tied.init(jax.random.key(0), 5, 3)
    tokens, h = jnp.array([4, 0, 2, 4]), rows()
    y, _ = tied.fwd((tokens, h), weights, None, hyperparams)
    table = np.asarray(weights.embed.embedding, np.float64)
    hidden = np.tanh(table[np.asarray(tokens)] + np.asarray(h, np.float64))
    np.testing.assert_allclose(y, hidden @ table.T, rtol=2e-6)


def test_tied_weights_get_one_gradient_of_both_uses(tied: Any):
    weights, _, hyperparams = tied.init(jax.random.key(0), 5, 3)
    tokens, h = jnp.array([4, 0, 2, 4]), rows()

    def loss(weights: Any) -> jax.Array:
        return tied.fwd((tokens, h), weights, None, hyperparams)[0].sum()

    gradient = jax.grad(loss)(weights).embed.embedding
    table = np.asarray(weights.embed.embedding, np.float64)
    at = np.asarray(tokens)
    hidden = np.tanh(table[at] + np.asarray(h, np.float64))
    expected = np.tile(hidden.sum(0), (5, 1))
    np.add.at(expected, at, (1.0 - hidden**2) * table.sum(0))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16, jnp.float32])
def test_the_dtype_is_that_of_the_input(tied: Any, dtype: Any):
    weights, _, hyperparams = tied.init(jax.random.key(0), 5, 3)
    tokens, h = jnp.array([4, 0, 2, 4]), rows().astype(dtype)

    def run(h: jax.Array) -> jax.Array:
        return tied.fwd((tokens, h), weights, None, hyperparams)[0]

    assert run(h).dtype == dtype
    products = [
        eqn.outvars[0].aval
        for eqn in jax.make_jaxpr(run)(h).jaxpr.eqns
        if eqn.primitive.name == "dot_general"
    ]
    assert [p.dtype for p in products] == [dtype]  # type: ignore[union-attr]


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_an_entry_point_without_floats_computes_in_the_dtype_of_what_calls_it(
    examples: Examples, dtype: Any
):
    module: Any = examples.module("nn", "of_its_own")
    trainables, state, hyperparams = created(module)
    x = rows().astype(dtype)
    y, new = module.fwd(x, trainables, state, hyperparams)
    assert y.dtype == dtype
    assert_same(as_dict(new)["codes"], state.codes)
    layer = examples.oracle("nn", "of_its_own")()
    layer.load(trainables, state)
    assert layer(x).dtype == dtype
    alone, _ = module.lookup(jnp.arange(2), trainables, state, hyperparams)
    assert alone.dtype == jnp.float32


@pytest.mark.parametrize("name", SHARED)
def test_gradients_of_what_entry_points_share_are_added_in_the_dtype_of_the_input(
    name: str, examples: Examples
):
    """The weights are cast once, though each entry point casts what it is given."""
    module: Any = examples.module("nn", name)
    weights, _, hyperparams = module.init(jax.random.key(0))

    def loss(weights: Any, x: jax.Array) -> jax.Array:
        return jnp.sum(module.fwd(x, weights, None, hyperparams)[0])

    program = jax.make_jaxpr(jax.grad(loss))(weights, jnp.ones((2, 3), jnp.float16))
    added = [str(e) for e in program.eqns if e.primitive.name == "add_any"]
    assert added, program
    assert not [text for text in added if "f32" in text], program
