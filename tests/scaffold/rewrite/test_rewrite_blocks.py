"""Blocks with weights, states, layers and keys of their own: alone, and in other layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import as_dict, assert_runs_alike, assert_same, created, rows
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

BLOCKS = {
    "scaled": """
        layer: SubLayer  #: what is scaled

        def setup(self):
            self.scale = trainable(normal(1.0), ())

        def forward(self, x: Float["..."]) -> Float["..."]:
            return x + self.scale * self.layer(x)
        """,
    "counted": """
        layer: SubLayer  #: what is counted

        def setup(self):
            self.calls = state(zeros, (), jnp.int32)
            self.last = state(zeros, ())

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = self.layer(x)
            if self.training:
                self.calls = self.calls + 1
                self.last = mean(y)
            return y * (1 + self.calls) + self.last
        """,
    "chosen": """
        layers: SubLayers  #: the candidates
        start: float = 0.5  #: of the first one

        def setup(self):
            self.logits = trainable(normal(1.0), (len(self.layers),))
            self.norms = [Plain(3) for _ in self.layers]
            self.start_of = tuple(self.start for _ in range(len(self.layers)))
            self.noise = Noise()

        def _weighted(self, norm, x, number):
            return norm(x) * self.logits[number]

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = x * self.start_of[0]
            for i, (norm, layer) in enumerate(zip(self.norms, self.layers)):
                y = y + layer(self._weighted(norm, x, i))
            if self.training:
                y = y + jax.random.normal(self.key(), y.shape, y.dtype)
            return self.noise(y)
        """,
    "parts": """
        layers: SubLayers  #: those that are taken by their places
        head: SubLayer  #: the last one

        def setup(self):
            self.scale = trainable(normal(1.0), ())

        def _twice(self, x):
            return self.layers[1](x) + self.layers[-1](x)

        def forward(self, x: Float["..."]) -> Float["..."]:
            layers, head = self.layers, self.head
            first, *rest = self.layers
            x = first(x) * self.scale
            for layer in reversed(rest):
                x = x + layer(x)
            for i in range(len(layers)):
                x = layers[i](x) + i
            for layer in self.layers:
                x = layer(x) - self.layers[1](x)
            for layer in layers[:2]:
                x = self._twice(layer(x))
            for i in range(len(self.layers)):
                if i == 2:
                    break
                x = self.layers[i](x)
            x = x * i
            half = len(self.layers) // 2
            for down, up in zip(self.layers[:half], self.layers[half:]):
                x = x + up(down(x))
            y = [self.layers[i](x) for i in range(len(self.layers))]
            return self._twice(sum(jnp.stack(y), axis=0)) + head(x) * len(rest)
        """,
    "named": """
        layers: SubLayers  #: those that have other names
        head: SubLayer  #: the last one

        def setup(self):
            self.scale = trainable(normal(1.0), ())

        def _both(self, x):
            first, *_, last = self.layers
            return last(first(x))

        def forward(self, x: Float["..."]) -> Float["..."]:
            one, two, three, four = self.layers

            def step(h, _):
                head = self.head
                for layer in self.layers[1:]:
                    h = layer(h)
                return head(h) * self.scale, None

            def pair(h):
                a, *rest = self.layers
                for layer in rest:
                    h = layer(h)
                return (b := self.layers[-1])(a(h)) + b(h)

            x = jax.checkpoint(lambda h: two(one(h)))(x) + three(four(x))
            if self.training:
                last = self.head
                x = last(x)
            x = (f := self.head)(x) + f(self._both(x))
            return lax.scan(step, pair(x), None, length=2)[0]
        """,
    "within": """
        layers: SubLayers  #: those of loops in one another
        others: SubLayers  #: those of the inner ones

        def setup(self):
            self.scale = trainable(normal(1.0), ())

        def forward(self, x: Float["..."]) -> Float["..."]:
            for layer in self.layers:
                x = layer(x) * self.scale
                for i, other in enumerate(self.others):
                    x = other(x) + i
            n = 0
            while n < 2:
                for other, layer in zip(reversed(self.others), self.layers[1:]):
                    x = layer(other(x))
                n += 1
            for layer in self.layers:
                if n == 4:
                    continue
                for other in self.layers[:1]:
                    x = other(layer(x))
                if n == 5:
                    break
            else:
                n = 0
            return x + n
        """,
    "gated": """
        layer: SubLayer  #: a layer that says how wide it is

        def setup(self):
            self.gate = trainable(normal(1.0), (self.layer.features, 2 * self.layer.features))

        def forward(self, x: Float["..."]) -> Float["..."]:
            a, b = jnp.split(x @ self.gate, 2, axis=-1)
            return self.layer(x) * jnp.tanh(a) + b
        """,
    "deep": """
        layer: Stacked  #: what is repeated
        depth: Size  #: how often

        def setup(self):
            self.scales = trainable(normal(1.0), (self.depth,))

        def forward(self, x: Float["..."]) -> Float["..."]:
            def step(x, each):
                weights, states, scale = each
                y, states = self.layer.apply(x, weights, states, None)
                return x + scale * y, states

            each = (self.layer.trainables, self.layer.non_trainables, self.scales)
            x, states = lax.scan(step, x, each)
            self.layer.non_trainables = states
            return x
        """,
}
PASSES = """
        layer: SubLayer  #: what takes an input by its name
        layers: SubLayers  #: some that take it, and some that do not

        def _each(self, x, **inputs):
            for layer in self.layers:
                x = layer(x, **inputs)
            return self.layer(x, **inputs)

        def forward(self, x: PyTree, **inputs: PyTree) -> PyTree:
            y = self._each(x, **inputs)
            return self._each(y, **inputs)
        """
WHOLE = """
        def forward(self, x: PyTree) -> PyTree:
            return x
        """
TREES = """
        layer: SubLayer  #: what is called

        def setup(self):
            self.scale = trainable(normal(1.0), ())
            self.scales = [trainable(normal(1.0), (3,)) for _ in range(2)]
            self.calls = state(ones, ())
            self.plain = Plain(3)

        def _shifted(self, x):
            return x + self.calls * self.scale

        def forward(self, x: PyTree) -> PyTree:
            if self.training:
                self.calls = self.calls + self.scale
            x = jax.tree.map(lambda a: self._shifted(a) * self.scales[0] / self.calls, x)
            return jax.tree.map(self.plain, self.layer(x))
        """
USES = """
        depth: Size = 2  #: how often

        def setup(self):
            self.first = Scaled(Plain(3))
            self.branches = [Scaled(Counter()) for _ in range(self.depth)]
            self.of_blocks = Scaled(Counted(Scaled(Plain(3))))
            self.chosen = Chosen([Plain(3), Counter()])
            self.gated = Gated(Plain(3))
            self.deep = Deep(Scaled(Plain(3)), self.depth)
            self.kinds = {"a": Counted(Plain(3)), "b": Plain(3)}

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self.first(x)
            for branch in self.branches:
                x = branch(x)
            x = self.deep(self.gated(self.of_blocks(x)))
            for part in self.kinds.values():
                x = part(x)
            return self.chosen(x)
        """


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    specs: dict[str, SpecFile] = {}
    for name, body in BLOCKS.items():
        own, *others = example_files(body, "Block")
        specs |= {f.path: f for f in others}
        text = own.text.replace("class Example(", f"class {name.title()}(")
        text = text.replace("SubLayer,", "Stacked, SubLayer,", 1)
        path = own.path.replace("example", name)
        specs[path] = SpecFile(path, "block", text)
    for name, body in (("trees", TREES), ("whole", WHOLE), ("passes", PASSES)):
        text = example_files(body, "Block")[0].text
        path = f"specs/block/{name}.py"
        text = text.replace("class Example(", f"class {name.title()}(")
        specs[path] = SpecFile(path, "block", text)
    imports = "".join(f"from specs.block.{n} import {n.title()}\n" for n in BLOCKS)
    text = example_files(USES)[0].text.replace(
        "from specs.nn.plain", f"{imports}from specs.nn.plain"
    )
    specs["specs/nn/uses.py"] = SpecFile(
        "specs/nn/uses.py", "nn", text.replace("class Example(", "class Uses(")
    )
    root = tmp_path_factory.mktemp("blocks")
    with importable(specs.values(), words, root) as made:
        yield made


def layers_of(name: str, examples: Examples) -> dict[str, Any]:
    """What a block is given."""
    module = examples.module
    plain = module("nn", "plain")
    counter = module("nn", "counter").init(jax.random.key(1))
    noise = module("nn", "noise").init()
    one = plain.init(jax.random.key(2), features=3)
    if name == "within":
        others = [module("nn", "counter").init(jax.random.key(4)), noise]
        return {"layers": [counter, noise, one], "others": others}
    if name == "named":
        return {"layers": [one, counter, noise, one], "head": counter}
    if name in ("chosen", "parts"):
        head = {"head": counter} if name == "parts" else {}
        return {"layers": [one, counter, noise], **head}
    if name == "deep":
        keys = jax.random.split(jax.random.key(3), 2)
        return {"layer": jax.vmap(lambda key: plain.init(key, 3))(keys), "depth": 2}
    return {"layer": {"counted": noise, "gated": one}.get(name, counter)}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name: str, training: bool, examples: Examples):
    module: Any = examples.module("block", name)
    given = layers_of(name, examples)
    made = created(module, **given)
    block = examples.oracle("block", name)(**given)
    assert_runs_alike(module, block, made, rows(), training)


@pytest.mark.parametrize("name", BLOCKS)
def test_weights_are_drawn_alike(name: str, examples: Examples):
    given = layers_of(name, examples)
    trainables, state, _ = created(examples.module("block", name), **given)
    block = examples.oracle("block", name)(**given)
    block.initialize(jax.random.key(3))
    assert_same(
        as_dict(trainables), {n: block.trainables[n] for n in trainables._fields}
    )
    assert_same(as_dict(state), {n: block.non_trainables[n] for n in state._fields})


def test_the_weights_of_given_layers_stay(examples: Examples):
    given = layers_of("scaled", examples)
    trainables, state, _ = created(examples.module("block", "scaled"), **given)
    assert trainables.layer is given["layer"][0]
    assert state.layer is given["layer"][1]
    expected = jax.random.normal(jax.random.key(3), ())
    np.testing.assert_array_equal(trainables.scale, expected)


def test_layers_that_are_unpacked_are_as_many_as_names(examples: Examples):
    module: Any = examples.module("block", "named")
    given = layers_of("named", examples)
    given["layers"].pop()
    made = created(module, **given)
    with pytest.raises(ValueError, match="has to have 4 layers"):
        module.fwd(rows(), *made, False, jax.random.key(0))


def test_hyperparameters_say_what_fits(examples: Examples):
    module: Any = examples.module("block", "chosen")
    trainables, state, hyperparams = created(module, **layers_of("chosen", examples))
    assert hash(hyperparams) == hash(
        created(module, **layers_of("chosen", examples))[2]
    )
    other = trainables._replace(logits=jnp.zeros(2))
    with pytest.raises(ValueError, match="'logits' must have shape"):
        module.fwd(rows(), other, state, hyperparams, True)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int32"])
def test_a_tree_says_the_dtype(dtype: str, training: bool, examples: Examples):
    module: Any = examples.module("block", "trees")
    given = {"layer": examples.module("block", "whole").init()}
    trainables, state, hyperparams = created(module, **given)
    block = examples.oracle("block", "trees")(**given)
    block.load(trainables, state)
    x = {"n": jnp.arange(3), "a": rows().astype(dtype)}
    y, state = module.fwd(x, trainables, state, hyperparams, not training)
    assert_same(y, block(x, training=training))
    assert_same(as_dict(state), block.non_trainables)
    floating = "float32" if dtype == "int32" else dtype
    assert y["a"].dtype == floating
    assert state.calls.dtype == jnp.float32


@pytest.mark.parametrize("training", [True, False])
def test_methods_hand_on_the_inputs_of_layers(training: bool, examples: Examples):
    module: Any = examples.module("block", "passes")
    plain = examples.module("nn", "plain").init(jax.random.key(2), features=3)
    counter = examples.module("nn", "counter").init(jax.random.key(1))
    given = {"layer": plain, "layers": [counter, plain]}
    made = created(module, **given)
    block = examples.oracle("block", "passes")(**given)
    trainables, state, hyperparams = made
    block.load(trainables, state)
    x, shift = rows(), 3.0 * rows() ** 2
    y, state = module.fwd(x, trainables, state, hyperparams, not training, shift=shift)
    assert_same(y, block(x, training=training, shift=shift))
    assert_same(as_dict(state), block.non_trainables)
    assert_same(y, x + 1.0 + 2.0 + 4.0 * shift)


@pytest.mark.parametrize("training", [True, False])
def test_layers_are_made_of_them(training: bool, examples: Examples):
    module: Any = examples.module("nn", "uses")
    layer = examples.oracle("nn", "uses")()
    assert_runs_alike(module, layer, created(module), rows(), training)


def test_what_layers_make_of_them_is_drawn_alike(examples: Examples):
    module: Any = examples.module("nn", "uses")
    trainables, state, _ = created(module)
    layer = examples.oracle("nn", "uses")()
    layer.initialize(jax.random.key(3))
    assert_same(as_dict(trainables), layer.trainables)
    assert_same(as_dict(state), layer.non_trainables)
    scales = trainables.deep.layer.scale
    assert scales.shape == (2,)
    assert scales[0] != scales[1]
    assert trainables.of_blocks.layer.layer.scale != trainables.of_blocks.scale


@pytest.mark.parametrize("name", ["uses", "chosen", "parts", "named", "within"])
def test_no_key_is_used_twice(name: str, examples: Examples):
    block = name in BLOCKS
    module: Any = examples.module("block" if block else "nn", name)
    given = layers_of(name, examples) if block else {}
    with jax.debug_key_reuse(True):
        trainables, state, hyperparams = module.init(jax.random.key(3), **given)
        run = jax.jit(module.fwd, static_argnames=("hyperparams", "inference_mode"))
        run(rows(), trainables, state, hyperparams, False, jax.random.key(1))


def test_loops_over_layers_in_loops_thread_their_states(examples: Examples):
    module: Any = examples.module("block", "within")
    trainables, state, hyperparams = created(module, **layers_of("within", examples))
    y, state = module.fwd(rows(), trainables, state, hyperparams, True)
    # The first of the layers: once by itself, and in the last loop behind each of three and once more.
    assert state.layers[0].count == 1.0 + 1.0 + 3.0
    # The first of the others: once for each of three layers, and for one of two places, in two passes.
    assert state.others[0].count == 3.0 + 2.0
    scale, width = trainables.scale, trainables.layers[2].scale
    x = (rows() + 1.0) * scale + 1.0 + 1.0
    x = x * scale + 2.0 + 1.0
    x = x * width * scale + 3.0 + 1.0
    x = ((x + 4.0) * width + 5.0) * width
    x = (x + 2.0 + 3.0 + 4.0) * width + 5.0
    np.testing.assert_allclose(y, x, rtol=1e-5)
