"""Functions inside of a method that draw or change states, in the constructs of jax: eagerly and generated.

Draws are counted by hand, as those that are independent leave 0.5 ** n of the elements of ones. Numbers of
states are those of the same loop written in Python.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import assert_runs_alike, created, rows
from rewrite_examples import Examples
from test_rewrite_draws import HEADER, KEY, ONES, assert_survivors, importable

from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.testing.keys import assert_key_is_used_once

DRAWS = {
    "in_a_scan": (
        4,
        """
        def setup(self):
            self.drop = Dropout()

        def forward(self, x: Float["..."]) -> Float["..."]:
            def step(h, _):
                return self.drop(self.drop(h)), None

            y, _ = lax.scan(step, x, None, length=2)
            return y
        """,
    ),
    "in_a_scan_backwards": (
        3,
        """
        def forward(self, x: Float["..."]) -> Float["..."]:
            def step(h, scale):
                return dropout(h, self.key(), rate=0.5) * scale, None

            if not self.training:
                return x
            return lax.scan(f=step, init=x, xs=jnp.ones(3, x.dtype), reverse=True)[0]
        """,
    ),
    "in_a_fori_loop": (
        4,
        """
        def setup(self):
            self.drop = Dropout()

        def forward(self, x: Float["..."]) -> Float["..."]:
            return self.drop(lax.fori_loop(0, 3, lambda i, h: self.drop(h), x))
        """,
    ),
    "in_a_while_loop": (
        6,
        """
        def setup(self):
            self.drop = Dropout()

        def forward(self, x: Float["..."]) -> Float["..."]:
            def body(carry):
                i, h = carry
                h = self.drop(h)
                return i + 1, self.drop(h)

            return lax.while_loop(lambda carry: carry[0] < 3, body, (0, x))[1]
        """,
    ),
    "in_branches": (
        3,
        """
        def setup(self):
            self.drop = Dropout()

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = lax.cond(jnp.any(x > 0), lambda h: self.drop(h), lambda h: h, x)
            return lax.switch(1, [lambda h: h, lambda h: self.drop(self.drop(h)), self.drop], x)
        """,
    ),
    "under_vmap": (
        2,
        """
        def setup(self):
            self.drop = Dropout()

        def twice(self, x):
            return self.drop(self.drop(x))

        def forward(self, x: Float["..."]) -> Float["..."]:
            return jax.vmap(jax.vmap(self.twice, in_axes=1, out_axes=1))(x[:, None])[:, 0]
        """,
    ),
    "under_vmap_of_two": (
        1,
        """
        def setup(self):
            self.drop = Dropout()

        def forward(self, x: Float["..."]) -> Float["..."]:
            def both(row, scale):
                return self.drop(row) * scale

            mapped = jax.vmap(both, in_axes=(0, None))
            return mapped(x, 2.0)
        """,
    ),
    "called_twice": (
        4,
        """
        def setup(self):
            self.drop = Dropout()

        def forward(self, x: Float["..."]) -> Float["..."]:
            @jax.checkpoint
            def twice(h):
                return self.drop(self.drop(h))

            return twice(twice(x))
        """,
    ),
    "in_another_one": (
        7,
        """
        def setup(self):
            self.drop = Dropout()

        def forward(self, x: Float["..."]) -> Float["..."]:
            def outer(h, _):
                def inner(i, g):
                    return self.drop(g)

                return self.drop(lax.fori_loop(0, 2, inner, h)), None

            def once(h):
                return self.drop(h)

            return jax.checkpoint(once)(lax.scan(outer, x, None, length=2)[0])
        """,
    ),
    "over_leaves_and_rows": (
        3,
        """
        def setup(self):
            self.drop = Dropout()

        def forward(self, x: Float["..."]) -> Float["..."]:
            a, b = jax.tree.map(lambda h: self.drop(h), (x, x))
            return lax.map(self.drop, a * b)
        """,
    ),
}
STATES = {
    "carried_by_loops": """
        def setup(self):
            self.counter = Counter()
            self.noise = Noise()
            self.total = state(zeros, (3,))

        def forward(self, x: Float["..."]) -> Float["..."]:
            def step(h, row):
                self.total = self.total + row
                h = self.noise(self.counter(h + row))
                return h, h

            h, ys = lax.scan(step, x[0], x)
            h = lax.fori_loop(0, 2, lambda i, h: self.counter(h * 0.5), h)
            i, h = lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, self.counter(c[1])), (0, h))
            return h + ys + self.total + lax.map(lambda row: self.counter(row), x)
        """,
    "carried_by_branches": """
        def setup(self):
            self.counter = Counter()
            self.noise = Noise()
            self.scale = trainable(ones, (3,))

        def _scaled(self, x):
            return self.counter(x * self.scale)

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = lax.cond(jnp.any(x > 100), lambda h: h, lambda h: self.counter(h), x)
            x = lax.cond(jnp.all(x < 100), self.counter, self.noise, x)
            x = lax.switch(2, (lambda h: h, self.noise, self._scaled), x)
            return jax.checkpoint(self._scaled)(x)
        """,
    "of_named_functions": """
        def setup(self):
            self.counter = Counter()
            self.plain = Plain()

        def forward(self, x: Float["..."]) -> Float["..."]:
            def once(h, times=1):
                for _ in range(times):
                    h = self.counter(h)
                return h

            ys = [once(row) for row in x]
            scaled = jax.vmap(self.plain)(jnp.stack(ys))
            first, second = jax.tree.map(once, (x[0], x[1]))
            return once(scaled, 2) + first + second
        """,
    "over_lists": """
        def setup(self):
            self.counters = [Counter() for _ in range(2)]
            self.noises = [Noise() for _ in range(2)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            @jax.checkpoint
            def through(h):
                for counter, noise in zip(self.counters, self.noises):
                    h = noise(counter(h))
                return h

            y = through(x)
            for noise in self.noises:
                y = jax.vmap(lambda row: noise(row))(y)
            return through(y)
        """,
    "looped": """
        def setup(self):
            self.plain = Plain()

        def forward(self, x: Float["..."]) -> Float["..."]:
            def step(i, h):
                return h + self.plain(x) * 2.0**-20

            return lax.fori_loop(0, 300, step, x)
        """,
}
BLOCK = """
layer: SubLayer  #: one
steps: Size = 3  #: how often

def forward(self, x: Float["..."]) -> Float["..."]:
    def step(h, _):
        return self.layer(h), None

    return lax.scan(step, x, None, length=self.steps)[0]
"""


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    specs: dict[str, SpecFile] = {}
    bodies = [(name, body, "Layer") for name, body in STATES.items()]
    for name, body, base in (*bodies, ("iterated", BLOCK, "Block")):
        own, *others = example_files(body, base)
        specs |= {f.path: f for f in others}
        path = own.path.replace("example", name)
        title = name.title().replace("_", "")
        text = own.text.replace("class Example(", f"class {title}(")
        specs[path] = SpecFile(path, own.section, text)
    for name, (_, body) in DRAWS.items():
        head = HEADER.format(name=name.title().replace("_", ""), base="Layer")
        text = head + textwrap.indent(textwrap.dedent(body), "    ")
        path = f"specs/nn/{name}.py"
        specs[path] = SpecFile(path, "nn", text)
    root = tmp_path_factory.mktemp("functions")
    with importable(specs.values(), words, root) as made:
        yield made


@pytest.mark.parametrize("name", DRAWS)
def test_each_call_draws_from_a_key_of_its_own(name: str, examples: Examples):
    module = examples.module("nn", name)
    made = created(module)

    def fwd(x: Any, key: Any, inference_mode: bool = False) -> Any:
        return module.fwd(x, *made, inference_mode, key)[0]

    assert_key_is_used_once(fwd, ONES, KEY, what=name)
    y = fwd(ONES, KEY)
    assert_survivors(y, DRAWS[name][0])
    if DRAWS[name][0] < 4:
        # Elements that are mapped draw other numbers: no two rows are alike.
        assert len({bytes(row) for row in np.asarray(y != 0)}) == len(y)
    layer = examples.oracle("nn", name)()
    np.testing.assert_array_equal(y, layer(ONES, training=True, key=KEY))
    np.testing.assert_array_equal(
        fwd(ONES, None, True), layer(ONES, training=False, key=None)
    )
    with pytest.raises(ValueError, match="draws random numbers"):
        fwd(ONES, None)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("training", [False, True])
def test_states_are_threaded(name: str, training: bool, examples: Examples):
    module, layer = examples.module("nn", name), examples.oracle("nn", name)()
    made = created(module)
    assert_runs_alike(module, layer, made, rows(), training)


def test_calls_are_counted(examples: Examples):
    counts = {"carried_by_loops": 4 + 2 + 2 + 4, "of_named_functions": 4 + 2 + 2}
    for name, expected in counts.items():
        module = examples.module("nn", name)
        _, state = module.fwd(rows(), *created(module), True)
        assert state.counter.count == expected
    module = examples.module("nn", "carried_by_loops")
    _, state = module.fwd(rows(), *created(module), True)
    np.testing.assert_allclose(state.total, np.sum(rows(), 0), rtol=1e-6)
    module = examples.module("nn", "carried_by_branches")
    _, state = module.fwd(rows(), *created(module), True)
    assert state.counter.count == 4


def test_loops_add_gradients_in_the_dtype_of_the_input(examples: Examples):
    """The weights of a layer in a loop are cast before it, where they are narrower than the input."""
    module = examples.module("nn", "looped")
    weights, state, hyperparams = module.init(jax.random.key(0), dtype=jnp.bfloat16)
    ones = jnp.ones((1, 3))

    def loss(weights: Any) -> Any:
        return module.fwd(ones, weights, state, hyperparams)[0].sum()

    gradient = jax.grad(loss)(weights).plain.scale
    # In bfloat16 the sum of 300 equal terms stops at 256 of them.
    np.testing.assert_allclose(np.float64(gradient), 300 * 2.0**-20, rtol=2**-8)


def test_blocks_carry_the_states_of_their_layers(examples: Examples):
    layer = examples.module("nn", "carried_by_branches").init(jax.random.key(1))
    module = examples.module("block", "iterated")
    trainables, state, hyperparams = module.init(layer)
    y, after = module.fwd(rows(), trainables, state, hyperparams, False, KEY)
    assert after.layer.counter.count == 3 * 4
    block = examples.oracle("block", "iterated")(layer)
    np.testing.assert_allclose(y, block(rows(), training=True, key=KEY), rtol=1e-6)
    # The same, called three times in Python.
    h, own = rows(), layer[1]
    for key in jax.random.split(KEY, 3):
        h, own = layer[2].apply(h, layer[0], own, False, key)
    np.testing.assert_allclose(y, h, rtol=1e-6)
