"""Lists of sub-layers, as they are written down, looped over and indexed: eagerly, and as generated code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import pytest
from differential import (
    as_dict,
    assert_runs_alike,
    assert_same,
    created,
    examples_of,
    rows,
)
from rewrite_examples import Examples

LAYERS = {
    "lists_that_are_written_down": """
        def setup(self):
            self.kernel = trainable(normal(1.0), (3,))
            self.pair = [
                Scaled(
                    3,  # features
                ),
                Scaled(1),
            ]
            self.table = [
                Scaled(n)
                for _ in range(2)
                for n in (1, 3)
                if n
            ]
            self.noises = [Noise(), Noise()]

        def _mapped(self, x, i):
            return self.pair[i](x) * 2.0

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self.noises[0](self.pair[0](x)) * self.kernel
            y = self.pair[1](x) if x.ndim else x
            y = jax.vmap(lambda v: self.table[1](v))(y) + self.noises[-1](y)
            for i in range(len(self.table)):
                y = self.table[i](y) + self._mapped(x, i % 2)
            return y
        """,
    "lists_that_are_chosen": """
        def setup(self):
            self.short = [Scaled(3) for _ in range(2)]
            self.long = [Scaled(1) for _ in range(4)]
            self.table = [[Scaled(3), Scaled(1)], [Scaled(3)]]

        def forward(self, x: Float["..."]) -> Float["..."]:
            layers = self.short if x.ndim == 2 else self.long
            for layer in layers:
                x = layer(x) + 1.0
            for layer in self.long if x.ndim == 2 else reversed(self.short):
                x = layer(x) * 2.0
            layers = self.long[1:] if x.ndim == 1 else self.short
            for i in range(len(layers)):
                x = layers[i](x) - i
            for i in range(2):
                some = self.short if i else self.long
                x = x + [layer(x) for layer in some[1:]][0]
            row = self.table[0 if x.ndim == 2 else 1]
            for i, layer in enumerate(row if x.ndim else self.long):
                x = layer(x) * (i + 1.0)
            if x.ndim == 2:
                some = self.long
            else:
                some = self.short
            return some[-1](x) + [*map(lambda layer: layer(x), some)][0]
        """,
    "every_kind_of_loop": """
        def setup(self):
            self.plains = [Scaled(3) for _ in range(2)]
            self.counters = [Counter(), Counter()]
            self.noises = [Noise() for _ in range(2)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            for i, plain in enumerate(self.plains):
                x = plain(x) * (i + 1.0)
            for n, plain in enumerate(self.plains, start=3):
                x = plain(x) * n
            for i, counter in enumerate(self.counters):
                i = i + 0.5
                x = counter(x) * i
            for plain, counter in zip(reversed(self.plains), reversed(self.counters)):
                x = plain(counter(x))
            for _ in range(2):
                for i, (noise, counter) in enumerate(zip(self.noises, self.counters)):
                    x = noise(counter(x)) + i
            ys = [noise(plain(x)) for noise, plain in zip(self.noises, reversed(self.plains))]
            return x + ys[0] * ys[1] + sum([counter(x).max() for counter in self.counters][1])
        """,
    "parts_under_other_names": """
        def setup(self):
            self.plains = [Scaled(3) for _ in range(4)]
            self.counters = [Counter() for _ in range(4)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            plains, counters = self.plains[::2], self.counters[1:]
            for plain, counter in zip(plains, counters):
                x = counter(plain(x))
            last = self.counters[-2:]
            for i, counter in enumerate(last):
                x = counter(x) + i
            return x
        """,
    "a_method_that_runs_over_what_a_loop_around_it_does": """
        def setup(self):
            self.counters = [Counter(), Counter()]

        def _all(self, x):
            for counter in self.counters:
                x = counter(x)
            return x

        def forward(self, x: Float["..."]) -> Float["..."]:
            for counter in self.counters:
                x = self._all(counter(x)) * 0.5
            return x
        """,
}


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    root = tmp_path_factory.mktemp("lists")
    bodies = {n: b.replace("Scaled", "Plain") for n, b in LAYERS.items()}
    with examples_of(bodies, root, words, example_files) as made:
        yield made


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, training: bool, examples: Examples):
    module: Any = examples.module("nn", name)
    layer = examples.oracle("nn", name)()
    assert_runs_alike(module, layer, created(module), rows(), training)


@pytest.mark.parametrize("name", LAYERS)
def test_weights_are_drawn_alike(name: str, examples: Examples):
    trainables, state, _ = examples.module("nn", name).init(jax.random.key(3))
    layer = examples.oracle("nn", name)()
    layer.initialize(jax.random.key(3))
    assert_same(as_dict(trainables), layer.trainables)
    assert_same(as_dict(state), layer.non_trainables)
