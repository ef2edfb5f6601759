"""Functions and methods that `setup` calls: they make weights and layers, or compute sizes."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator

import jax
import numpy as np
import pytest
from differential import as_dict, assert_runs_alike, assert_same, rows
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

HEADER = """
import functools

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, Layer, Literal, Size, Sizes, lecun_normal, trainable
from mlax_scaffold.specs.nn.layer_norm import LayerNorm
from mlax_scaffold.specs.nn.linear import Linear
"""
WAYS = {
    "method_make_of_any_number": (
        "",
        """
        widths: Sizes = (3, 2)

        def _mlp(self, *sizes):
            return [Linear(a, b) for a, b in zip(sizes, sizes[1:])]

        def setup(self):
            first, *_, last = self.widths
            [*_, again] = self.widths
            self.layers = self._mlp(self.features, *self.widths, 2 * last, first)
            self.out = self._mlp(*self.widths, self.features + again - last)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = jnp.tanh(layer(x))
            for layer in self.out:
                x = layer(x)
            return x
        """,
    ),
    "helper_make_of_rows": (
        """
        def make(n, hidden, bias):
            return [Linear(n, hidden, use_bias=bias), Linear(hidden, n)]


        def pair(a, b, *others):
            return [Linear(n, m) for n, m in ((a, b), (b, a))]
        """,
        """
        sizes: Sizes = (4, 3)

        def setup(self):
            rows = [(2, True), (3, False)]
            self.layers = [make(self.features, *row) for row in rows]
            self.ends = pair(self.features, *self.sizes)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for up, down in self.layers:
                x = down(jnp.tanh(up(x)))
            for layer in self.ends:
                x = layer(x)
            return x
        """,
    ),
    "helper_make": (
        """
        def make(n):
            return Linear(n, n)
        """,
        """
        def setup(self):
            self.a = make(self.features)
            self.b = make(self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.b(self.a(x))
        """,
    ),
    "helper_make_list": (
        """
        def make(n, depth):
            return [Linear(n, n) for _ in range(depth)]
        """,
        """
        depth: Size = 2

        def setup(self):
            self.layers = make(self.features, self.depth)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = layer(x)
            return x
        """,
    ),
    "helper_make_loop": (
        """
        def make(n, depth):
            layers = []
            for _ in range(depth):
                layers.append(Linear(n, n))
            return layers
        """,
        """
        depth: Size = 2

        def setup(self):
            self.layers = make(self.features, self.depth)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = layer(x)
            return x
        """,
    ),
    "method_make": (
        """
        """,
        """
        def setup(self):
            self.a = self._make(self.features)
            self.b = self._make(self.features)

        def _make(self, n):
            return Linear(n, n)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.b(self.a(x))
        """,
    ),
    "method_make_self": (
        """
        """,
        """
        def setup(self):
            self.a = self._make()
            self.b = self._make()

        def _make(self):
            return Linear(self.features, self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.b(self.a(x))
        """,
    ),
    "method_make_list": (
        """
        """,
        """
        depth: Size = 2

        def setup(self):
            self.layers = self._make(self.depth)

        def _make(self, depth):
            return [Linear(self.features, self.features) for _ in range(depth)]

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = layer(x)
            return x
        """,
    ),
    "method_make_loop": (
        """
        """,
        """
        depth: Size = 2

        def setup(self):
            self.layers = self._make(self.depth)

        def _make(self, depth):
            layers = []
            for _ in range(depth):
                layers.append(Linear(self.features, self.features))
            return layers

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = layer(x)
            return x
        """,
    ),
    "method_in_comp": (
        """
        """,
        """
        depth: Size = 2

        def setup(self):
            self.layers = [self._make(self.features) for _ in range(self.depth)]

        def _make(self, n):
            return Linear(n, n)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = layer(x)
            return x
        """,
    ),
    "method_in_append": (
        """
        """,
        """
        depth: Size = 2

        def setup(self):
            self.layers = []
            for _ in range(self.depth):
                self.layers.append(self._make(self.features))

        def _make(self, n):
            return Linear(n, n)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = layer(x)
            return x
        """,
    ),
    "method_branch": (
        """
        """,
        """
        deep: bool = False

        def setup(self):
            self.a = self._make(self.features)

        def _make(self, n):
            if self.deep:
                return Linear(n, n, use_bias=False)
            return Linear(n, n)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "method_kw": (
        """
        """,
        """
        def setup(self):
            self.a = self._make(n=self.features, bias=False)

        def _make(self, n, bias=True):
            return Linear(n, n, use_bias=bias)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "method_local": (
        """
        """,
        """
        def setup(self):
            self.a = self._make(self.features)

        def _make(self, n):
            m = 1 * n
            return Linear(n, m)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "method_weight": (
        """
        """,
        """
        def setup(self):
            self.a = self._weight(self.features)
            self.b = self._weight(self.features)

        def _weight(self, n):
            return trainable(lecun_normal(), (n, n))

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x @ self.a @ self.b
        """,
    ),
    "method_two": (
        """
        """,
        """
        def setup(self):
            self.a, self.b = self._make(self.features)

        def _make(self, n):
            return Linear(n, n), Linear(n, n)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.b(self.a(x))
        """,
    ),
    "method_sets": (
        """
        """,
        """
        def setup(self):
            self._make(self.features)

        def _make(self, n):
            self.a = Linear(n, n)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "nested_def": (
        """
        """,
        """
        def setup(self):
            def make():
                return Linear(self.features, self.features)
            self.a = make()
            self.b = make()

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.b(self.a(x))
        """,
    ),
    "nested_def_arg": (
        """
        """,
        """
        def setup(self):
            def make(n, m):
                return Linear(n, m)
            self.a = make(self.features, 8)
            self.b = make(8, self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.b(self.a(x))
        """,
    ),
    "nested_def_weight": (
        """
        """,
        """
        def setup(self):
            def weight(*shape):
                return trainable(lecun_normal(), shape)
            self.a = weight(self.features, 8)
            self.b = weight(8, self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x @ self.a @ self.b
        """,
    ),
    "lambda_weight": (
        """
        """,
        """
        def setup(self):
            w = lambda n, m: trainable(lecun_normal(), (n, m))
            self.a = w(self.features, 8)
            self.b = w(8, self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x @ self.a @ self.b
        """,
    ),
    "nested_comp": (
        """
        """,
        """
        depth: Size = 2

        def setup(self):
            def make():
                return Linear(self.features, self.features)
            self.layers = [make() for _ in range(self.depth)]

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = layer(x)
            return x
        """,
    ),
    "partial": (
        """
        """,
        """
        def setup(self):
            linear = functools.partial(Linear, use_bias=False)
            self.a = linear(self.features, self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "partial_top": (
        """
        Plain = functools.partial(Linear, use_bias=False)
        """,
        """
        def setup(self):
            self.a = Plain(self.features, self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "property": (
        """
        """,
        """
        ratio: Size = 2

        def setup(self):
            self.up = Linear(self.features, self.hidden)
            self.down = Linear(self.hidden, self.features)

        @property
        def hidden(self):
            return self.features * self.ratio

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.down(jax.nn.relu(self.up(x)))
        """,
    ),
    "property_both": (
        """
        """,
        """
        ratio: Size = 2

        def setup(self):
            self.up = Linear(self.features, self.hidden)
            self.down = Linear(self.hidden, self.features)

        @property
        def hidden(self):
            return self.features * self.ratio

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.down(jax.nn.relu(self.up(x))) * self.hidden
        """,
    ),
    "property_cached": (
        """
        """,
        """
        ratio: Size = 2

        def setup(self):
            self.up = Linear(self.features, self.hidden)
            self.down = Linear(self.hidden, self.features)

        @functools.cached_property
        def hidden(self):
            return self.features * self.ratio

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.down(jax.nn.relu(self.up(x)))
        """,
    ),
    "property_long": (
        """
        """,
        """
        ratio: Size | None = None

        def setup(self):
            self.up = Linear(self.features, self.hidden)
            self.down = Linear(self.hidden, self.features)

        @property
        def hidden(self):
            if self.ratio is None:
                return 4 * self.features
            return self.features * self.ratio

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.down(jax.nn.relu(self.up(x)))
        """,
    ),
    "method_size": (
        """
        """,
        """
        ratio: Size = 2

        def setup(self):
            self.up = Linear(self.features, self._hidden())
            self.down = Linear(self._hidden(), self.features)

        def _hidden(self):
            return self.features * self.ratio

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.down(jax.nn.relu(self.up(x)))
        """,
    ),
    "method_size_arg": (
        """
        """,
        """
        def setup(self):
            self.up = Linear(self.features, self._times(2))
            self.down = Linear(self._times(2), self.features)

        def _times(self, n: int) -> int:
            return self.features * n

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.down(jax.nn.relu(self.up(x)))
        """,
    ),
    "method_size_long": (
        """
        """,
        """
        def setup(self):
            self.up = Linear(self.features, self._times(2))
            self.down = Linear(self._times(2), self.features)

        def _times(self, n: int) -> int:
            total = 0
            for _ in range(n):
                total += self.features
            return total

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.down(jax.nn.relu(self.up(x)))
        """,
    ),
    "static_size": (
        """
        """,
        """
        def setup(self):
            self.up = Linear(self.features, self._twice(self.features))
            self.down = Linear(self._twice(self.features), self.features)

        @staticmethod
        def _twice(n):
            return 2 * n

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.down(jax.nn.relu(self.up(x)))
        """,
    ),
    "property_derived": (
        """
        """,
        """
        def setup(self):
            self.inner = 2 * self.features
            self.up = Linear(self.features, self.hidden)
            self.down = Linear(self.hidden, self.features)

        @property
        def hidden(self):
            return self.inner * 2

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.down(jax.nn.relu(self.up(x)))
        """,
    ),
    "table_method": (
        """
        """,
        """
        def setup(self):
            self.table = self._table()

        def _table(self):
            return np.arange(self.features) / self.features

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x * jnp.asarray(self.table, x.dtype)
        """,
    ),
    "init_method": (
        """
        """,
        """
        def setup(self):
            self.kernel = trainable(self._init, (self.features, self.features))

        def _init(self, key, shape, dtype):
            return jax.random.normal(key, shape, dtype) * self.features**-0.5

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x @ self.kernel
        """,
    ),
    "init_static": (
        """
        """,
        """
        def setup(self):
            self.kernel = trainable(self._init, (self.features, self.features))

        @staticmethod
        def _init(key, shape, dtype):
            return jax.random.normal(key, shape, dtype) * 0.02

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x @ self.kernel
        """,
    ),
    "init_helper": (
        """
        def small(key, shape, dtype):
            return jax.random.normal(key, shape, dtype) * 0.02
        """,
        """
        def setup(self):
            self.kernel = trainable(small, (self.features, self.features))

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x @ self.kernel
        """,
    ),
    "init_helper_made": (
        """
        def scaled(s):
            def init(key, shape, dtype=jnp.float32):
                return jax.random.normal(key, shape, dtype) * s

            return init
        """,
        """
        def setup(self):
            self.kernel = trainable(scaled(0.5), (self.features, self.features))

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x @ self.kernel
        """,
    ),
    "class_local": (
        """
        """,
        """
        def setup(self):
            norm = LayerNorm
            self.a = norm(self.features)
            self.b = norm(self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.b(self.a(x))
        """,
    ),
    "class_top": (
        """
        Norm = LayerNorm
        """,
        """
        def setup(self):
            self.a = Norm(self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "class_ifexp": (
        """
        """,
        """
        deep: bool = False

        def setup(self):
            dense = Linear if self.deep else Linear
            self.a = dense(self.features, self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "class_dict": (
        """
        """,
        """
        norm: Literal["layer", "linear"] = "layer"

        def setup(self):
            self.a = {"layer": LayerNorm, "linear": lambda n: Linear(n, n)}[self.norm](self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "class_dict_local": (
        """
        """,
        """
        norm: Literal["layer", "linear"] = "layer"

        def setup(self):
            norms = {"layer": LayerNorm, "linear": lambda n: Linear(n, n)}
            self.a = norms[self.norm](self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "class_dict_top": (
        """
        NORMS = {"layer": LayerNorm, "linear": lambda n: Linear(n, n)}
        """,
        """
        norm: Literal["layer", "linear"] = "layer"

        def setup(self):
            self.a = NORMS[self.norm](self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "class_dict_of_texts": (
        """
        NORMS = {"layer": LayerNorm, "linear": lambda n: Linear(n, n)}
        """,
        """
        norm: str = "layer"
        depth: Size = 2

        def setup(self):
            self.layers = []
            for _ in range(self.depth):
                self.layers.append(NORMS[self.norm](self.features))

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = layer(x)
            return x
        """,
    ),
    "raising_function": (
        """
        def make(kind, n):
            if kind == "layer":
                return LayerNorm(n)
            elif kind == "linear":
                return Linear(n, n)
            if kind == "none":
                return None
            raise ValueError(f"no norm {kind}")
        """,
        """
        norm: str = "layer"

        def setup(self):
            self.a = make(self.norm, self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x if self.a is None else self.a(x)
        """,
    ),
    "class_arg": (
        """
        """,
        """
        def setup(self):
            self.a = self._make(LayerNorm)

        def _make(self, cls):
            return cls(self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.a(x)
        """,
    ),
    "lambda_dict": (
        """
        """,
        """
        norm: Literal["layer", "linear"] = "layer"

        def setup(self):
            self.a = {"layer": lambda: LayerNorm(self.features), "linear": lambda: None}[self.norm]()

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return x if self.a is None else self.a(x)
        """,
    ),
    "class_if": (
        """
        def square(n):
            return Linear(n, n)
        """,
        """
        norm: Literal["layer", "linear"] = "layer"

        def setup(self):
            if self.norm == "layer":
                make = LayerNorm
            elif self.features > 100:
                make = LayerNorm
            else:
                make = square
            self.a = make(self.features)
            self.b = (LayerNorm if self.norm == "layer" else square)(self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            return self.b(self.a(x))
        """,
    ),
    "partial_in_lists": (
        """
        Plain = functools.partial(Linear, use_bias=False)
        dense = lambda a, b=3: Linear(a, b, use_bias=False)
        """,
        """
        depth: Size = 2

        def setup(self):
            layer = functools.partial(Plain, self.features)
            self.layers = [layer(self.features) for _ in range(self.depth)]
            self.out = dense(self.features)

        def forward(self, x: Float["*batch features"]) -> Float["*batch 3"]:
            for layer in self.layers:
                x = jax.nn.relu(layer(x))
            return self.out(x)
        """,
    ),
    "parts": (
        """
        def block(n, norm=True, again=0):
            layers = [Linear(n, n)]
            if norm:
                layers.append(LayerNorm(n))
            if again > 0:
                layers += [Linear(n, n)]
            return layers
        """,
        """
        depth: Size = 1

        def setup(self):
            self.layers = []
            for _ in range(self.depth):
                self._add(self.features)
            self.scale, self.shift = self._affine(self.features)
            self.head = [*block(self.features, norm=False), *block(self.features, again=self.depth)]

        def _add(self, n):
            self.layers.append(Linear(n, n))
            self.layers.append(LayerNorm(n))

        def _affine(self, n):
            scale = trainable(lecun_normal(), (n, n))
            return scale, trainable(lecun_normal(), (n, 2 * n))

        def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
            for layer in self.layers:
                x = jax.nn.relu(layer(x))
            x = x @ self.scale + (x @ self.shift)[..., : self.features]
            for layer in self.head:
                x = layer(x)
            return x
        """,
    ),
}
"""What stands beside the class, and what stands in it."""


def text_of(name: str) -> str:
    beside, body = map(textwrap.dedent, WAYS[name])
    title = name.title().replace("_", "")
    doc = '"""A spec of a test."""'
    head = f"class {title}(Layer):\n    {doc}\n\n    features: Size\n"
    return f"{HEADER}\n\n{beside}\n\n{head}{textwrap.indent(body, '    ')}"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    specs = [SpecFile(f"specs/nn/{n}.py", "nn", text_of(n)) for n in WAYS]
    with importable(specs, words, tmp_path_factory.mktemp("makers")) as made:
        yield made


FIELDS = {"depth": 3, "deep": True, "norm": "linear", "ratio": 3}
"""Values of fields that are none of the defaults."""
CASES = [
    (name, {field: value} if changed else {})
    for name, (_, body) in WAYS.items()
    for field, value in ({"": None} | FIELDS).items()
    for changed in [f"{field}: " in body and field != ""]
    if changed or not field
]


@pytest.mark.parametrize(("name", "others"), CASES)
def test_equals_the_spec(name: str, others: dict, examples: Examples):
    module, spec = examples.module("nn", name), examples.oracle("nn", name)
    fields = {"features": 3} | others
    layer, key = spec(**fields), jax.random.key(5)
    made = module.init(*_key(module, key), **fields)
    layer.initialize(key)
    assert_same(as_dict(made[0]), layer.trainables)
    drawn = [
        np.random.default_rng(i).normal(size=w.shape).astype(np.float32)
        for i, w in enumerate(jax.tree.leaves(made[0]))
    ]
    weights = jax.tree.unflatten(jax.tree.structure(made[0]), drawn)
    assert_runs_alike(module, layer, (weights, *made[1:]), rows(), training=True)


@pytest.mark.parametrize("name", ["class_dict_of_texts", "raising_function"])
def test_refuses_other_texts(name: str, examples: Examples):
    module = examples.module("nn", name)
    with pytest.raises(ValueError, match="norm"):
        module.init(jax.random.key(0), 3, norm="other")


def _key(module, key: jax.Array) -> tuple[jax.Array, ...]:
    return (key,) if "key" in inspect.signature(module.init).parameters else ()
