"""Layers that a block is given, where functions stand: in loops, by their numbers, and by other names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from differential import assert_runs_alike, created, rows
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

BLOCKS = {
    "later": """
        layers: SubLayers  #: those that are called later

        def setup(self):
            self.scale = trainable(normal(1.0), ())

        def forward(self, x: Float["..."]) -> Float["..."]:
            for layer in self.layers:
                x = jax.checkpoint(layer)(x)
            for i in range(len(self.layers)):
                x = jax.checkpoint(self.layers[i])(x) + i
            for i, layer in enumerate(self.layers):
                x = jax.checkpoint(lambda h: layer(h) * self.scale)(x) + i
            for x_ in self.layers[1:]:

                def run(h):
                    return x_(h)

                x = run(x)
            f, g = self.layers[0], self.layers[2]
            x = jax.checkpoint(f)(x)
            y, pull = jax.vjp(g, x)
            return jax.checkpoint(self.layers[-1])(y) + pull(y)[0]
        """,
    "starred": """
        layers: SubLayers  #: which are handed all that a function is called with

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = jax.checkpoint(lambda *given: self.layers[0](*given))(x)
            x = jax.checkpoint(lambda *given, **named: self.layers[2](*given, **named))(x)
            for layer in self.layers:
                x = jax.checkpoint(lambda *given: layer(*given))(x)

            def run(*given):
                return self.layers[-1](*given)

            return run(x)
        """,
    "comprehended": """
        layers: SubLayers  #: which a comprehension inside of a lambda calls

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = jax.checkpoint(lambda h: jnp.stack([layer(h) for layer in self.layers]))(x)[-1]
            x = jax.checkpoint(lambda h: [layer(h) + i for i, layer in enumerate(self.layers)])(x)[2]
            x, y = jax.checkpoint(lambda h: tuple([layer(h) for layer in self.layers[1:3]]))(x)
            return jax.checkpoint(lambda h, g: jnp.stack([layer(h) * g for layer in self.layers[1:]]))(x, y)
        """,
    "elements": """
        layers: SubLayers  #: those that keep their states
        head: SubLayer  #: the last one

        def forward(self, x: Float["..."]) -> Float["..."]:
            first, *rest = self.layers
            x = jax.vmap(first)(x)
            for layer in rest:
                x = jax.vmap(layer)(x)
            return jax.vmap(self.head)(x) * len(rest)
        """,
    "branches": """
        layers: SubLayers  #: one of which runs for each of them

        def forward(self, x: Float["..."]) -> Float["..."]:
            for layer in self.layers:
                x = jax.checkpoint(layer)(layer(x))
                x = lax.cond(x[0, 0] > 4.0, lambda v: v * 2.0, layer, x)
            return lax.switch(1, (self.layers[0], self.layers[-1]), x)
        """,
    "unpacked": """
        layers: SubLayers  #: four of them

        def forward(self, x: Float["..."]) -> Float["..."]:
            first, *rest = self.layers
            head, *inner, last = self.layers
            x = rest[0](first(x)) + rest[-1](x)
            x = jax.checkpoint(inner[1])(inner[0](x)) - inner[-1](x) * inner[-2](x)
            for layer in inner:
                x = layer(x)
            return last(head(x))
        """,
}


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    specs: dict[str, SpecFile] = {}
    for name, body in BLOCKS.items():
        own, *others = example_files(body, "Block")
        specs |= {f.path: f for f in others}
        text = own.text.replace("class Example(", f"class {name.title()}(")
        path = own.path.replace("example", name)
        specs[path] = SpecFile(path, "block", text)
    root = tmp_path_factory.mktemp("handed")
    with importable(specs.values(), words, root) as made:
        yield made


def layers_of(name: str, examples: Examples) -> dict[str, Any]:
    """What a block is given."""
    plain, noise = examples.module("nn", "plain"), examples.module("nn", "noise")
    counters = [examples.module("nn", "counter").init(jax.random.key(0))] * 2
    one, other = (plain.init(jax.random.key(n), features=3) for n in (1, 2))
    if name == "elements":
        return {"layers": [one, noise.init(), other], "head": one}
    return {"layers": [counters[0], noise.init(), one, counters[1]]}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name: str, training: bool, examples: Examples):
    module: Any = examples.module("block", name)
    given = layers_of(name, examples)
    block = examples.oracle("block", name)(**given)
    assert_runs_alike(module, block, created(module, **given), rows(), training)


@pytest.mark.parametrize("name", BLOCKS)
def test_no_key_is_used_twice(name: str, examples: Examples):
    module: Any = examples.module("block", name)
    with jax.debug_key_reuse(True):
        made = created(module, **layers_of(name, examples))
        module.fwd(rows(), *made, False, jax.random.key(1))


def test_each_call_sees_the_state_of_the_one_before(examples: Examples):
    module: Any = examples.module("block", "later")
    trainables, state, hyperparams = created(module, **layers_of("later", examples))
    y, new = module.fwd(rows(), trainables, state, hyperparams, True)
    # A counter adds how often it has been called.
    scale, width = trainables.scale, trainables.layers[2].scale
    x = (np.asarray(rows(), np.float64) + 1.0) * width + 1.0
    x = ((x + 2.0 + 1.0) * width + 2.0) + 2.0 + 3.0
    x = ((x + 3.0) * scale * scale + 1.0) * width * scale + 2.0
    x = (x + 3.0) * scale + 3.0
    x = x * width + 4.0 + 4.0
    y_ = x * width
    np.testing.assert_allclose(y, y_ + 5.0 + y_ * width, rtol=1e-5)
    assert [new.layers[i].count for i in (0, 3)] == [4.0, 5.0]


def test_the_rest_of_what_is_unpacked_is_where_it_was(examples: Examples):
    module: Any = examples.module("block", "unpacked")
    trainables, state, hyperparams = created(module, **layers_of("unpacked", examples))
    y, new = module.fwd(rows(), trainables, state, hyperparams, True)
    width = trainables.layers[2].scale
    x = np.asarray(rows(), np.float64)
    x = (x + 1.0) + (x + 1.0)
    x = x * width - (x * width) * x
    np.testing.assert_allclose(y, x * width + 2.0 + 2.0, rtol=1e-5)
    assert [new.layers[i].count for i in (0, 3)] == [2.0, 2.0]


def test_a_branch_that_does_not_run_changes_no_state(examples: Examples):
    module: Any = examples.module("block", "branches")
    trainables, state, hyperparams = created(module, **layers_of("branches", examples))
    y, new = module.fwd(0.0 * rows(), trainables, state, hyperparams, True)
    x, width = np.zeros(rows().shape), np.asarray(trainables.layers[2].scale, float)
    x = x + 1.0 + 2.0
    x = x + 3.0  # of the first counter, for 3 is not above 4
    x = x * 2.0  # nothing is drawn
    x = x * width * width
    x = x * 2.0 if x[0, 0] > 4.0 else x * width
    x = x + 1.0 + 2.0
    last = 3.0 if x[0, 0] <= 4.0 else 2.0
    x = x + 3.0 if last == 3.0 else x * 2.0
    np.testing.assert_allclose(y, x + last + 1.0, rtol=1e-5)
    assert [new.layers[i].count for i in (0, 3)] == [3.0, last + 1.0]
