"""Methods that use weights, sub-layers, states and keys: eagerly, and as functions of the module."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from differential import assert_runs_alike, created, examples_of, rows
from rewrite_examples import Examples

LAYERS = {
    "methods_that_return_nothing": """
        def setup(self):
            self.mean = state(zeros, ())
            self.calls = state(zeros, ())

        def _write(self, x):
            self.mean = self.mean * 0.5 + jnp.max(x)

        def _count(self, x, least=0):
            if x.ndim < least:
                return
            elif x.ndim == 1:
                self.calls = self.calls + 1.0
            else:
                self.calls = self.calls + 2.0
                return x

        def forward(self, x: Float["*batch three"]) -> Float["*batch three"]:
            self._write(x)
            self._count(x)
            self._count(x, least=1)
            return x + self.mean + self.calls
        """,
    "typed_methods_that_return_nothing": """
        def setup(self):
            self.seen = [state(zeros, (3,)) for _ in range(2)]
            self.calls = state(zeros, (), jnp.int32)

        def write(self, x: Float["*batch three"]):
            for i in range(2):
                self.seen[i] = self.seen[i] * 0.5 + jnp.max(x, axis=0) * i
            self.calls = self.calls + 1

        def forward(self, x: Float["*batch three"]) -> Float["*batch three"]:
            self.write(x)
            return x + self.seen[0] + self.seen[1]
        """,
    "private_names_that_are_common": """
        def setup(self):
            self.noise = Noise()
            self.mean = state(zeros, ())
            self.scale = trainable(normal(1.0), (3,))

        def _cast(self, x):
            return x * self.scale

        def _layers(self, x, key_scale=0.5):
            self.mean = self.mean + 1.0
            return self.noise(self._cast(x)) * key_scale

        def _state(self, x):
            return x + self.mean + jax.random.normal(self.key(), x.shape, x.dtype)

        def forward(self, x: Float["*batch three"]) -> Float["*batch three"]:
            return self._state(self._layers(x))
        """,
    "weights_alone": """
        features: Size = 3  #: size of the last axis

        def setup(self):
            self.kernel = trainable(normal(1.0), (3, self.features))
            self.bias = trainable(normal(1.0), (3,))
            self.start = trainable(normal(1.0), (3,))

        def kernel_of(self, scale=2.0, *, power=1):
            return self.kernel * scale ** power

        def _shifted(self, kernel, bias: float = 1.0):
            return kernel + self.bias * bias + self.start

        @staticmethod
        def _mixed(a, b):
            return a * 0.5 + b

        def forward(self, x: Float["..."]) -> Float["..."]:
            start = self._shifted(x, bias=3.0)
            y = start @ self.kernel_of(power=2) + self._shifted(x @ self.kernel_of(3.0))
            rows = jax.vmap(self._shifted)(y)
            return self._mixed(y, jnp.stack([self._shifted(row) for row in rows]) + self.start)
        """,
    "states_and_keys": """
        def setup(self):
            self.counter = Counter()
            self.noise = Noise()
            self.plain = Plain()
            self.mean = state(zeros, ())
            self.scale = trainable(normal(1.0), (3,))

        def _counted(self, x):
            self.mean = self.mean + 1.0
            return self.counter(x) * self.scale + self.mean

        def noisy(self, x, key=0.5):
            if not self.training:
                return x
            # Two draws, and one of a sub-layer.
            a = jax.random.normal(self.key(), x.shape, x.dtype)
            return self.noise(x) + a + jax.random.normal(self.key(), x.shape, x.dtype) * key

        def _both(self, x: Float["..."], times: int) -> Float["..."]:
            for _ in range(times):
                x = self.noisy(self._counted(x), key=0.25)
            return x + self.plain(self._counted(x))

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = self._both(x, 2) + self._counted(self.counter(x))
            if self.training:
                y = self._both(y, times=1) * jax.random.normal(self.key(), x.shape, x.dtype)
            return self._counted(y)
        """,
    "stateless_calls_in_every_place": """
        def setup(self):
            self.plain = Plain()
            self.plains = [Plain(3) for _ in range(2)]

        def _scaled(self, x, times):
            return self.plain(x) * times

        def forward(self, x: Float["..."]) -> Float["..."]:
            def twice(y):
                z = self.plain(y)
                return z + self._scaled(y, 2.0)

            f = lambda v: self.plain(v, shift=v) * 2.0
            rows = [self.plain(row) for row in f(x)] + [*map(twice, x)]
            y = self.plain(x) if x.ndim else x
            y = (x.ndim and self.plain(y)) + jnp.stack(rows).reshape(2, *x.shape)[1]
            if x.ndim == 7:
                y = y * 2.0
            elif self.plain(x).ndim == 2 < self.plain(x).ndim + 1:
                y = y + jax.vmap(self.plain)(x) + jax.vmap(lambda v: self.plain(v))(x)
            y, _ = lax.scan(lambda c, v: (self.plain(c + v), None), y, x)
            y = lax.fori_loop(0, 3, lambda i, c: twice(c), y)
            y = lax.cond(y.max() > 0.0, self.plain, lambda v: self._scaled(v, 3.0), y)
            y = jax.checkpoint(twice)(y)
            for plain in self.plains:
                y = jax.vmap(lambda v: plain(v) * 0.5)(y)
            return y
        """,
    "weights_of_sub_layers": """
        def setup(self):
            self.plain = Plain()
            self.counter = Counter()
            self.shift = trainable(normal(1.0), (3,))

        def _tied(self, x):
            return x @ jnp.diag(self.plain.scale.T) * self.plain.features

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = self.counter(self.plain(x)) + self.shift
            return self._tied(y) * self.counter.count + self.plain.scale
        """,
    "entry_points_of_each_other": """
        def setup(self):
            self.noise = Noise()
            self.counter = Counter()
            self.scale = trainable(normal(1.0), (3,))

        def encode(self, x: Float["..."]) -> Float["..."]:
            return self.noise(x) * self.scale

        def merge(
            self, a: Float["..."], b: Float["..."], *, scale: Float["..."] | None = None
        ) -> Float["..."]:
            y = self.encode(self.counter(a)) + b
            return y if scale is None else y * scale

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = self.encode(x)
            return self.merge(self.encode(y), y) + self.merge(x, y, scale=self.scale)
        """,
    "layers_of_loops_in_methods": """
        def setup(self):
            self.plain = Plain()
            self.listed = [Plain() for _ in range(2)]
            self.mixed = [Plain(), Plain(3)]
            self.other = Plain()

        def _mapped(self, x):
            for _ in range(2):
                x = self.plain(x)
            return x

        def _added(self, x):
            for i, layer in enumerate(self.listed):
                x = layer(x) + layer(x * i)
            return x

        def _rows(self, x):
            return jnp.stack([layer(row) for row in x for layer in self.mixed])[:4]

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self._rows(self._added(self._mapped(x)))
            return jnp.stack([self.other(row) for row in x])
        """,
    "lists_that_are_looped_over_again": """
        def setup(self):
            self.layers = [Plain() for _ in range(2)]
            self.others = [Plain() for _ in range(2)]
            self.once = [Plain() for _ in range(2)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            for layer in self.layers:
                x = layer(x)
            for layer, other in zip(self.layers, self.others):
                x = other(layer(x))
            for once in self.once:
                x = once(x)
            return self.others[0](x)
        """,
    "sub_layers_of_what_is_called_again": """
        def setup(self):
            self.inner = Plain()
            self.outer = Plain()

        def _mapped(self, x):
            return self.outer(self.inner(x))

        def _twice(self, x):
            return self._mapped(x) * self._mapped(x + 1.0)

        def forward(self, x: Float["..."]) -> Float["..."]:
            return self._twice(x)
        """,
    "states_that_methods_read": """
        def setup(self):
            self.scale = trainable(normal(1.0), (3,))
            self.mean = state(zeros, (3,))
            self.width = state(ones, (3,))
            self.calls = state(zeros, (), jnp.int32)

        def _measured(self, x):
            self.mean = self.mean * 0.5 + x[0] * self.scale
            self.calls = self.calls + 1
            return x

        def _centred(self, x, mean=None):
            if mean is None:
                mean = self.mean
            return (x - mean) / (self.width + 1.0) * (self.calls > 0)

        def _restored(self, x):
            return x * self.width + self.mean

        def _both(self, x):
            return self._restored(self._centred(x))

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = self._restored(x) + self._measured(x) * self._centred(x)
            if self.training:
                self.width = 0.5 * self.width + x[0] ** 2
            rows = jax.vmap(self._centred)(self._both(y))
            last, rows = lax.scan(
                lambda c, row: (c + self._centred(row), self._restored(c)), self.mean, rows
            )
            return self._restored(rows) + last + self._centred(y, mean=1.0)
        """,
    "states_that_methods_read_before_others_set_them": """
        def setup(self):
            self.scale = trainable(normal(1.0), (3,))
            self.parts = {"mean": state(zeros, (3,)), "width": state(ones, (3,))}
            self.total = state(zeros, (3,))

        def _mean(self, x):
            return x + self.parts["mean"]

        def _total(self, x):
            return x + self.stored.total.astype(x.dtype)

        def _set(self, x):
            self.parts["mean"] = self.parts["mean"] * 0.5 + x[0] * self.scale
            self.total = self.total + x[0]
            return x

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = self._mean(x) + self._set(x) * self._mean(x)
            y = y + (self._mean(self._set(x)) - self._set(x * 2.0))
            return self._total(y) * self._set(y) + self._total(x)
        """,
    "lists_that_methods_hand_on": """
        def setup(self):
            self.first = [Plain(3), Plain(3)]
            self.second = [Plain(3), Plain(3)]

        def _both(self, layers, x):
            return layers[1](jnp.tanh(layers[0](x)))

        def _step(self, x):
            return self._both(self.first, x) + self._both(self.second, x)

        def forward(self, x: Float["..."]) -> Float["..."]:
            for _ in range(3):
                x = self._step(x)
            return x
        """,
}


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    root = tmp_path_factory.mktemp("methods")
    with examples_of(LAYERS, root, words, example_files) as made:
        yield made


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, training: bool, dtype: str, examples: Examples):
    module: Any = examples.module("nn", name)
    layer = examples.oracle("nn", name)()
    assert_runs_alike(module, layer, created(module), rows(dtype), training)


AGAIN = (
    "sub_layers_of_what_is_called_again",
    "layers_of_loops_in_methods",
    "lists_that_are_looped_over_again",
    "lists_that_methods_hand_on",
    "states_that_methods_read",
)


@pytest.mark.parametrize("name", AGAIN)
def test_gradients_of_what_is_called_again_are_added_in_the_compute_dtype(
    name: str, examples: Examples
):
    module: Any = examples.module("nn", name)
    weights, states, hyperparams = created(module)

    def loss(weights, x):
        return module.fwd(x, weights, states, hyperparams)[0][0, 0]

    program = jax.make_jaxpr(jax.grad(loss, argnums=(0, 1)))(weights, rows("bfloat16"))
    added = [e.outvars[0].aval for e in program.eqns if e.primitive.name == "add_any"]
    assert added
    assert {aval.dtype for aval in added} == {jnp.dtype("bfloat16")}


def test_public_methods_with_types_of_arrays_are_entry_points(examples: Examples):
    module: Any = examples.module("nn", "entry_points_of_each_other")
    layer = examples.oracle("nn", "entry_points_of_each_other")()
    x = rows()
    assert_runs_alike(module, layer, created(module), x, True, "encode")
    assert_runs_alike(module, layer, created(module), (x, x), True, "merge")


def test_weights_that_are_used_once_are_cast_where_they_are_used(examples: Examples):
    module: Any = examples.module("nn", "lists_that_are_looped_over_again")
    cast = (
        inspect.getsource(module.fwd)
        .partition("_replace(")[2]
        .partition("\n    for ")[0]
    )
    assert "layers=" in cast
    assert "others=" in cast
    assert "once=" not in cast
