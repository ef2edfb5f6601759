"""Small specs, run eagerly and as generated code, on the same weights, states and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

LAYERS = {
    "branches_on_one_line": """
        def setup(self):
            self.counter = Counter()
            self.noise = Noise()

        def forward(self, x: Float["..."]) -> Float["..."]:
            if self.training: x = self.counter(x); x = self.noise(x)
            else: x = x * 2.0
            return self.counter(x)
        """,
    "states_on_paths_and_in_loops": """
        def setup(self):
            self.mean = state(zeros, ())
            self.var = state(ones, ())
            self.steps = state(zeros, (), jnp.int32)

        def forward(self, x: Float["..."]) -> Float["..."]:
            before = self.mean
            for i in range(3):
                self.mean += i * jnp.max(x)
                if i == 1:
                    self.mean, self.var = self.var, self.mean
            if self.training:
                self.steps = self.steps + 1
                self.var *= 0.5 if before is None else 0.25
            (self.mean, (last, self.var)), *_ = (self.var, (x, self.mean)), 0
            return last * self.mean + self.var + before
        """,
    "keys_in_the_order_of_the_text": """
        def setup(self):
            self.noise = Noise()

        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x
            y = self.noise(self.noise(x) + jax.random.normal(self.key(), x.shape, x.dtype))
            if x.ndim > 5:
                return jax.random.normal(self.key(), x.shape, x.dtype)
            return y * jax.random.normal(self.key(), x.shape, x.dtype)
        """,
    "optional_weights_and_states": """
        used: bool = False  #: whether they are there

        def setup(self):
            self.bias = trainable(ones, (3,)) if self.used else None
            self.trace = state(zeros, (3,)) if self.used else None
            self.inner = Counter() if self.used else None
            self.kernel = trainable(normal(1.0), (3,))

        def forward(self, x: Float["..."]) -> Float["..."]:
            if self.trace is not None:
                self.trace = self.trace + 1.0
            if self.inner is not None:
                x = self.inner(x)
            def add(y):
                return y if self.bias is None else y + self.bias
            y = add(x) * self.kernel + self.kernel
            return y if self.trace is None else y + self.trace
        """,
    "lists_of_sub_layers": """
        count: Size = 2  #: how many there are

        def setup(self):
            self.counters = [Counter() for _ in range(self.count)]
            self.noises = [Noise() for _ in range(self.count)]
            self.plains = [Plain(n) for n in (1,) * self.count]
            self.none = [Counter() for _ in ()]

        def forward(self, x: Float["..."]) -> Float["..."]:
            if self.training:
                x = x * jax.random.normal(self.key(), x.shape, x.dtype)
            for i, noise, counter in zip(range(self.count), self.noises, self.counters, strict=True):
                x = counter(x) * i
                if self.training:
                    x = noise(counter(x) + noise(x))
            for plain in self.plains:
                x = plain(x, shift=x)
            for counter in self.none:
                x = counter(x)
            return x * len(self.none) + x
        """,
    "names_of_temporaries": """
        def setup(self):
            features, keys_ = 3, 2
            self.features = features * keys_
            self.a = Counter()
            self.b = Plain(3)
            self.new_mean = trainable(normal(1.0), (3,))
            self.mean = state(zeros, (3,))

        def forward(self, x: Float["..."]) -> Float["..."]:
            a_state, a, b = x * 2.0, x * 3.0, x * 5.0
            new_mean_2 = x * 7.0
            y = self.a(a) + self.b(b) + self.a(a_state)
            self.mean, z = self.mean + 1.0, y
            return a_state + a + b + new_mean_2 + self.new_mean * z + self.features
        """,
    "calls_in_every_place": """
        def setup(self):
            self.a = Counter()
            self.b = Plain(3)

        def forward(self, x: Float["..."]) -> Float["..."]:
            if (first := self.a(x)).ndim > 0:
                x += self.a(first)
            for row in self.a(x):
                x = x + row
            total = {"a": self.a(x), "b": [self.b(x, shift=self.a(x)), self.a(self.b(x))]}
            return self.a(
                # the first of them
                total["a"]
            ) + total["b"][0] * total["b"][-1]
        """,
    "states_that_are_read_before_a_call_changes_them": """
        def setup(self):
            self.total = state(zeros, ())
            self.counter = Counter()
            self.counters = [Counter(), Counter()]
            self.totals = [state(zeros, ()), state(ones, ())]

        def step(self, x):
            self.total = self.total + 1.0
            self.totals[0] = self.totals[0] + 2.0
            return self.counter(x) + self.counters[1](x)

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = self.total * x + self.step(x) * self.total + self.step(self.total + x)
            self.total, y = self.total + 1.0, y + self.step(x)
            self.total += jnp.max(self.step(x))
            self.total *= 0.5 + jnp.max(self.step(x)) - 1.5
            self.totals[0] = self.totals[0] + self.totals[1] * jnp.max(self.step(x))
            before, y = [self.total, self.stored.total], self.step(y)
            y = y + self.counter.count * self.counter(x) + before[0] * before[1]
            self.totals[1] = jnp.max(x)
            self.total = self.total + self.sum_of(0.5)
            return {"a": self.total, "b": self.step(x)}["b"] + y

        def sum_of(self, factor):
            return factor * self.totals[0] + self.totals[1]
        """,
    "choices_of_what_functions_call": """
        used: bool = True  #: whether the counter counts

        def setup(self):
            self.counter = Counter()
            self.other = Counter()
            self.counters = [Counter(), Counter()]
            self.noise = Noise()

        def forward(self, x: Float["..."]) -> Float["..."]:
            def step(y, _):
                y = self.counter(y) if self.used else self.noise(y)
                z = y if self.training else self.other(y)
                return z * self.other.count, y
            y, rows = jax.lax.scan(step, x, None, length=3)
            y = 2.0 * y if self.used else sum([counter(y) for counter in self.counters])
            return y + rows[0] + rows[2]
        """,
    "arrays_of_layers_in_layers": """
        def setup(self):
            self.pair = Pair()
            self.pairs = {"a": Pair(), "b": [Pair()]}

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = self.pair(x) * self.pair.plain.scale + self.pair.counter.count
            y = self.pairs["a"](y) + self.pairs["b"][0](y)
            return y * self.pairs["a"].plain.scale + self.pairs["b"][0].counter.count
        """,
    "input_bound_again": """
        def setup(self):
            self.kernel = trainable(normal(1.0), (3,))
            self.mean = state(zeros, ())

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = x.reshape(-1, 3).astype(jnp.float32)
            self.mean = jnp.max(x)
            y = (x * self.kernel.astype(x.dtype)).astype(self.kernel.dtype)
            scale = jax.vmap(lambda x: x.astype(self.mean.dtype) * self.mean)(x)
            return y + scale.astype(y.dtype)
        """,
    "names_that_generated_code_uses": """
        def setup(self):
            self.kernel = trainable(normal(1.0), (3,))
            self.noise = Noise()

        def forward(self, x: Float["..."]) -> Float["..."]:
            def twice(inference_mode, *, dtype=2.0):
                return inference_mode * dtype
            def weighted(key, hyperparams=3.0):
                return key * self.kernel + hyperparams
            inference_mode = twice(x, dtype=4.0) + twice(inference_mode=x)
            key = weighted(inference_mode, hyperparams=2.0) + weighted(key=x)
            def outer(state):
                def init(non_trainables): return non_trainables * state * self.kernel
                non_trainables = init(non_trainables=state)
                return non_trainables + key
            keys = jax.vmap(lambda keys: keys + 1.0)(outer(key))
            hyperparams, fwd = (lambda trainables=keys: trainables)(), self.noise(inference_mode)
            return key + fwd + [init * 2.0 for init in (keys, hyperparams)][1]
        """,
    "several_inputs": """
        def setup(self):
            self.kernel = trainable(normal(1.0), (3,))
            self.pair = Plain(3)

        def forward(self, inputs: Float["..."], carry: Float["..."]) -> PyTree:
            y = self.pair(inputs * self.kernel)
            return y, (carry + y, {"carry": self.pair(carry)})
        """,
    "strings_and_nested_functions": '''
        def setup(self):
            self.kernel = trainable(normal(1.0), (3,))

        def forward(self, x: Float["..."]) -> Float["..."]:
            text = "self.kernel" \\
                "self.x"
            size = len(f"{text} {self.kernel.ndim} self.x")

            def scaled(y):
                """Scales.

                With the kernel.
                """
                return y * self.kernel * size

            return scaled(x)
        ''',
}
BLOCKS = {
    "loops_over_layers": """
        layer: SubLayer  #: a layer
        layers: SubLayers  #: layers

        def forward(self, x: Float["..."]) -> PyTree:
            i, states = 1.0, []
            y = self.layer(x + i)
            for layer in self.layers: y = layer(y) + self.layer.trainables.scale
            for layer, scale in zip(self.layers, (2.0, 3.0)):
                states.append(layer(y * scale))  # of each
            return y + jax.random.normal(self.key(), y.shape, y.dtype), states
        """,
}
OPTIMIZERS = {
    "locals_and_nested_functions": """
        rate: Scheduled  #: step size
        decay: Probability = 0.5  #: decay of the moments

        def setup(self, param):
            mean = param.shape
            self.mean = moment(zeros, mean)
            self.square = moment(ones, mean)

        def prepare(self, grads, params):
            factor = 2.0 * self.rate
            self.factor = factor * self.step
            self.norm = jnp.max(jnp.abs(jax.tree.leaves(dict(grads=grads)["grads"])[0]))

        def update(self, grad, param):
            square, rate = grad * grad, 3.0
            def mixed(old, new): return old * self.decay + new * (1.0 - self.decay)
            self.mean, self.square = mixed(self.mean, grad), mixed(self.square, square)
            return -self.factor * self.mean / (self.square + self.norm + rate) if param.ndim else grad
        """,
    "flags_that_stay_booleans": """
        rate: Scheduled  #: step size

        def setup_tree(self, params):
            self.kept = state(zeros, (), jnp.int32)

        def prepare(self, grads, params):
            self.keep = self.step_number % 2 == 1
            self.kept = self.kept + jnp.where(~self.keep, 0, 1)

        def update(self, grad, param):
            return jnp.where(~self.keep, 0.0, -self.rate * grad)
        """,
}


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    specs: dict[str, SpecFile] = {}
    for base, bodies in (
        ("Layer", LAYERS),
        ("Block", BLOCKS),
        ("Optimizer", OPTIMIZERS),
    ):
        for name, body in bodies.items():
            own, *others = example_files(body, base)
            title = name.title().replace("_", "")
            path = own.path.replace("example", name)
            text = own.text.replace("class Example(", f"class {title}(")
            specs |= {f.path: f for f in others}
            specs[path] = SpecFile(path, own.section, text)
    with importable(specs.values(), words, tmp_path_factory.mktemp("examples")) as made:
        yield made


def inputs(name: str, dtype: Any) -> Any:
    x = jnp.asarray(np.linspace(-1.0, 2.0, 12).reshape(4, 3), dtype)
    return (x, x[0]) if name == "several_inputs" else x


def assert_same(given: Any, expected: Any) -> None:
    """The same leaves in the same order, in the same dtypes."""
    given, expected = jax.tree.leaves(given), jax.tree.leaves(expected)
    assert [leaf.dtype for leaf in given] == [leaf.dtype for leaf in expected]
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(
            np.asarray(one, np.float64), np.asarray(other, np.float64), rtol=1e-6
        )


def as_dict(tree: Any) -> Any:
    """NamedTuples as dictionaries, sorted alike on both sides."""
    if hasattr(tree, "_asdict"):
        return {name: as_dict(value) for name, value in tree._asdict().items()}
    return tree


def created(module: Any, **hyperparameters: Any) -> tuple[Any, Any, Any]:
    key = jax.random.key(3)
    try:
        return module.init(key, **hyperparameters)
    except TypeError:  # a layer without weights
        return module.init(**hyperparameters)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, training: bool, dtype: str, examples: Examples):
    given: list[dict[str, Any]] = [{}]
    if name == "optional_weights_and_states":
        given = [{"used": True}, {"used": False}]
    for hyperparameters in given:
        module = examples.module("nn", name)
        trainables, state, hyperparams = created(module, **hyperparameters)
        layer = examples.oracle("nn", name)(**hyperparameters)
        layer.load(trainables, state)
        x, key = inputs(name, dtype), jax.random.key(5)
        for _ in range(2):
            y, state = module.fwd(x, trainables, state, hyperparams, not training, key)
            assert_same(y, layer(x, training=training, key=key))
            assert_same(as_dict(state), layer.non_trainables)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name: str, training: bool, examples: Examples):
    plain, counter, noise = (
        examples.module("nn", n) for n in ("plain", "counter", "noise")
    )
    layer = created(plain)
    layers = [created(counter), created(noise)]
    module = examples.module("block", name)
    trainables, state, hyperparams = module.init(layer=layer, layers=layers)
    block = examples.oracle("block", name)(layer=layer, layers=layers)
    x, key = inputs(name, "float32"), jax.random.key(5)
    for _ in range(2):
        y, state = module.fwd(x, trainables, state, hyperparams, not training, key)
        assert_same(y, block(x, training=training, key=key))
        assert_same(as_dict(state), block.non_trainables)


@pytest.mark.parametrize("rate", [0.1, jnp.sqrt])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str, rate: float | Callable, examples: Examples):
    params = {"a": jnp.ones((3,)), "b": jnp.float32(2.0)}
    grads = {"a": jnp.asarray([1.0, -2.0, 3.0]), "b": jnp.float32(4.0)}
    module = examples.module("optim", name)
    state, hyperparams = module.init(params, rate=rate)
    oracle = examples.oracle("optim", name)(rate=rate)
    oracle.initialize(params)
    for _ in range(3):
        updates, state = module.step(grads, state, params, hyperparams)
        assert_same(updates, oracle.step(grads, params))
        assert_same(as_dict(state), oracle.state)
