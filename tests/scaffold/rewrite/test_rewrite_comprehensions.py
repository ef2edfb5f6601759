"""Sub-layers and keys in comprehensions: eagerly, and as loops that thread states and split keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from differential import assert_runs_alike, created, examples_of, rows
from rewrite_examples import Examples

LAYERS = {
    "keys_of_each_pass": """
        def setup(self):
            self.noise = Noise()
            self.noises = [Noise() for _ in range(3)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x
            first = jax.random.normal(self.key(), x.shape, x.dtype)
            a, b = (jax.random.normal(self.key(), x.shape, x.dtype) for _ in range(2))
            many = [
                jax.random.normal(self.key(), (), x.dtype) * i + jax.random.normal(self.key(), (), x.dtype)
                for i in range(3) for j in range(i) if i + j > 1
            ]
            named = {k: self.noise(x) for k in "ab"}
            listed = [noise(x) * i for i, noise in zip(range(3), self.noises)]
            drawn = jax.random.normal(self.key(), x.shape, x.dtype) if x.ndim == 2 else x
            return first + a * b + jnp.stack(many).max() + named["a"] - named["b"] + listed[2] * drawn
        """,
    "states_of_each_pass": """
        def setup(self):
            self.counter = Counter()
            self.noise = Noise()
            self.counters = [Counter() for _ in range(2)]
            self.scale = trainable(normal(1.0), (3,))
            self.mean = state(zeros, ())

        def _count(self, x):
            self.mean = self.mean + 1.0
            return self.noise(x) * self.mean

        def forward(self, x: Float["..."]) -> Float["..."]:
            row = x[0] * self.scale
            # Each row is counted.
            ys = [self.counter(row) for row in x if row.ndim]
            zs = [[self.counter(row * v) for v in (1.0, 2.0)] for row in ys]
            y = jnp.stack([self._count(row) for row in x])
            both = {name: counter(y) for name, counter in zip("ab", self.counters)}
            for y in (self._count(v) for v in zs[0]):
                row = row + y
            return jnp.stack(ys) * row + zs[1][0] + both["b"] + y
        """,
    "places_that_are_listed": """
        def setup(self):
            self.parts = {"a": Plain(3), "b": Plain(3), "noise": Noise(), "n": Counter()}
            self.row = [Plain(3) for _ in range(3)]

        def _use(self, f, x):
            return f(x) * 2.0

        def forward(self, x: Float["..."]) -> Float["..."]:
            q, k = (self._use(p, x) for p in (self.parts["b"], self.parts["a"]))
            rows = [layer(x) for layer in [self.row[2], self.row[0], self.row[2]]]
            drawn = [p(x) for p in (self.parts["noise"], self.parts["n"], self.parts["noise"])]
            for p in (self.parts["n"], self.parts["n"]):
                x = p(x)
            return q * k + rows[0] - 2.0 * rows[1] * rows[2] + drawn[0] * drawn[1] - drawn[2] + x
        """,
    "places_and_layers_that_are_listed": """
        def setup(self):
            self.parts = {"a": Plain(3), "b": Plain(3)}
            self.row = [Plain(3) for _ in range(2)]
            self.one = Plain(3)

        def forward(self, x: Float["..."]) -> Float["..."]:
            a, b = [layer(x) for layer in (self.parts["a"], self.one)]
            for layer in [self.one, self.parts["b"], self.row[1]]:
                a = layer(a) + 1.0
            for i, (layer, s) in enumerate(((self.row[0], 2.0), (self.one, 3.0))):
                a = layer(a) * s - b * i
            return a * b
        """,
    "what_a_lambda_is_called_with": """
        def setup(self):
            self.layers = [Plain(3) for _ in range(3)]
            self.counters = [Counter() for _ in range(2)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            y = jax.checkpoint(lambda h, k=2: jnp.stack([layer(h) * k for layer in self.layers]))(x)
            z = jax.vmap(lambda g: {i: layer(g) for i, layer in enumerate(self.layers)}[1])(x)
            several = [lambda h: [layer(h) for layer in self.layers], lambda h: [h]]
            z = z + several[0](x)[2] + several[1](x)[0]
            inner = jax.checkpoint(
                lambda h: jax.vmap(lambda g: jnp.stack([layer(g) for layer in self.layers]))(h)
            )(x)
            rows = [jax.checkpoint(lambda h: [layer(h) * g for layer in self.layers])(g)[0] for g in x]
            _, last = lax.scan(lambda c, h: (c, [layer(h + c) for layer in self.layers]), x[0], x)
            firsts = [
                [layer(g) for layer in self.layers][0] for g in [layer(x)[0] for layer in self.layers][:1]
            ]
            counted = jax.checkpoint(lambda h: [counter(h) for counter in self.counters])(x)
            return y[0] + z + inner[:, 1] + jnp.stack(rows) + firsts[0] + last[2] + counted[1]
        """,
}


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    root = tmp_path_factory.mktemp("comprehensions")
    with examples_of(LAYERS, root, words, example_files) as made:
        yield made


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, training: bool, examples: Examples):
    module: Any = examples.module("nn", name)
    layer = examples.oracle("nn", name)()
    assert_runs_alike(module, layer, created(module), rows(), training)
