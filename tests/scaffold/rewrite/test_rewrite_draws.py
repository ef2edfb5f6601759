"""Each draw of each pass of a loop has a key of its own.

Dropouts at a rate of a half that are independent leave 0.5 ** n of the elements of ones; the numbers of draws
are counted by hand. jax's checker of keys sees the generated functions, and the eager spec says the same.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.testing.keys import assert_key_is_used_once

HEADER = '''
import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Block, Float, Layer, Optimizer, PyTree, SubLayer, SubLayers, SubOptimizers, dropout, ones, trainable
)
from mlax_scaffold.specs.nn.dropout import Dropout
from mlax_scaffold.specs.nn.scaler import Scaler


class {name}({base}):
    """A spec of a test."""

'''
HANDED = "from specs.nn.handed_on import HandedOn\n"
LAYERS = {
    "handed_on": (
        2,
        """
        def setup(self):
            self.drop = Dropout()

        def _mapped(self, x):
            return jax.vmap(self.drop)(x)

        def _named(self, x):
            drop = self.drop
            return drop(x)

        def forward(self, x: Float["..."]) -> Float["..."]:
            return self._named(self._mapped(x))
        """,
    ),
    "with_what_is_handed_on": (
        4,
        """
        def setup(self):
            self.inner = HandedOn()

        def forward(self, x: Float["..."]) -> Float["..."]:
            return self.inner(self.inner(x))
        """,
    ),
    "layers_and_draws": (
        4,
        """
        def setup(self):
            self.layers = [Scaler(128) for _ in range(4)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x
            for layer in self.layers:
                x = dropout(layer(x), self.key(), rate=0.5)
            return x
        """,
    ),
    "zip_of_two_lists": (
        6,
        """
        def setup(self):
            self.drops = [Dropout() for _ in range(2)]
            self.others = [Dropout() for _ in range(2)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x
            for drop, i, other in zip(self.drops, range(3), self.others):
                x = other(drop(x)) * (i + 1)
                x = dropout(x, self.key(), rate=0.5)
            return x
        """,
    ),
    "called_twice_and_in_a_loop": (
        7,
        """
        def setup(self):
            self.drops = [Dropout() for _ in range(1)]
            self.drop = Dropout()

        def forward(self, x: Float["..."]) -> Float["..."]:
            for drop in self.drops:
                x = drop(drop(x))
                for _ in range(2):
                    x = self.drop(drop(x))
            return self.drop(x)
        """,
    ),
    "nested_loops": (
        7,
        """
        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x
            for i, scale in enumerate((2.0, 4.0)):
                for _ in range(2):
                    x = dropout(x, self.key(), rate=0.5) * scale
                x = dropout(x, self.key(), rate=0.5)
                if i == 1:
                    break
            else:
                x = dropout(x, self.key(), rate=0.5)
            for _ in ():
                x = dropout(x, self.key(), rate=0.5)
            return dropout(x, self.key(), rate=0.5)
        """,
    ),
    "while_loops": (
        1 + 2 * (2 + 1) + 2 + 2,
        """
        def setup(self):
            self.drop = Dropout()
            self.drops = [Dropout() for _ in range(2)]

        def _again(self, x):
            n = 2
            while n:
                x = self.drop(x)
                n -= 1
            return x

        def forward(self, x: Float["..."]) -> Float["..."]:
            n, x = 0, self.drop(x)
            while n < 2:
                for drop in self.drops:
                    x = drop(x)
                n += 1
                m = 0
                while True:
                    if m == 1:
                        break
                    x, m = dropout(x, self.key(), rate=0.5), m + 1
            else:
                x = self._again(x)

            def more(y):
                n = 0
                while n < 2:
                    n += 1
                    y = self.drop(y)
                return y

            return more(x)
        """,
    ),
    "while_loops_that_bind": (
        2 + 1 + 1,
        """
        def forward(self, x: Float["..."]) -> Float["..."]:
            n = 2
            while (left := n) > 0:
                x = dropout(x, self.key(), rate=0.5)
                n = left - 1
            else:
                x = dropout(x, self.key(), rate=0.5)
            while (left := n + 1) > 0:
                x = dropout(x, self.key(), rate=0.5)
                break
            else:
                x = dropout(x, self.key(), rate=0.5)
            return x
        """,
    ),
    "branches_in_a_loop": (
        4,
        """
        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x
            for i in range(4):
                if i % 2:
                    x = dropout(x, self.key(), rate=0.5)
                else:
                    x = dropout(x, key=self.key(), rate=0.5)
            return x
        """,
    ),
    "keys_of_a_comprehension": (
        5,
        """
        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x
            for _ in range(2):
                draws = self.keys(2)
                masks = [dropout(jnp.ones_like(x), draw, rate=0.5) for draw in draws]
                for mask in masks:
                    x = x * mask
            return dropout(x, self.key(), rate=0.5)
        """,
    ),
    "keys_of_a_scan": (
        3,
        """
        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x

            def step(x, draw):
                return dropout(x, draw, rate=0.5), None

            return lax.scan(step, x, self.keys(3))[0]
        """,
    ),
    "a_chain_of_splits": (
        6,
        """
        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x
            draw = self.key()
            for _ in range(2):
                draw, part = jax.random.split(draw)
                x = dropout(x, part, rate=0.5)

            def step(carry, _):
                x, draw = carry
                draw, part = jax.random.split(draw)
                return (dropout(x, part, rate=0.5), draw), None

            (x, draw), _ = lax.scan(step, (x, draw), None, length=2)
            draw, *parts = jax.random.split(draw, 3)
            for part in parts:
                x = dropout(x, part, rate=0.5)
            return x
        """,
    ),
    "a_loop_for_each_row": (
        2,
        """
        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x

            def run(row):
                def step(row, _):
                    return dropout(row, self.key(), rate=0.5), None

                return lax.scan(step, row, None, length=2)[0]

            return jax.vmap(run)(x)
        """,
    ),
    "draws_at_inference": (
        3,
        """
        def forward(self, x: Float["..."]) -> Float["..."]:
            for _ in range(3):
                x = dropout(x, self.key(), rate=0.5)
            return x
        """,
    ),
}
BLOCKS = {
    "layers_with_draws": (
        7,
        """
        layers: SubLayers  #: initialized layers
        layer: SubLayer  #: one more

        def forward(self, x: PyTree) -> PyTree:
            for _, layer in zip(range(9), self.layers):
                x = self.layer(layer(x))
                if self.training:
                    x = dropout(x, self.key(), rate=0.5)
            return self.layer(x)
        """,
    ),
    "layers_in_loops": (
        7,
        """
        layers: SubLayers  #: initialized layers
        layer: SubLayer  #: one more

        def forward(self, x: PyTree) -> PyTree:
            for _ in range(3):
                x = self.layer(x)
            for layer in self.layers:
                for _ in range(2):
                    x = layer(x)
            return x
        """,
    ),
}
OPTIMIZERS = {
    "loops_of_a_leaf": (
        3,
        """
        def update(self, grad, param):
            for _ in range(3):
                grad = dropout(grad, self.key(), rate=0.5)
            return grad
        """,
    ),
    "while_loops_of_a_leaf": (
        3,
        """
        def update(self, grad, param):
            n = 0
            while n < 3:
                grad = dropout(grad, self.key(), rate=0.5)
                n += 1
            return grad
        """,
    ),
    "while_loops_of_optimizers": (
        2,
        """
        optimizers: SubOptimizers  #: initialized optimizers

        def step(self, grads, params):
            while jax.tree.leaves(grads)[0].ndim > 2:
                grads = jax.tree.map(lambda g: g, grads)
            for optimizer in self.optimizers:
                grads = optimizer(grads, params)
            return grads
        """,
    ),
    "prepare_and_update": (
        2,
        """
        def prepare(self, grads, params):
            self.bit = jax.random.bits(self.key(), (), jnp.uint8) >= 0

        def update(self, grad, param):
            x = dropout(grad, self.key(), rate=0.5) * self.bit
            return dropout(x, self.key(), rate=0.5)
        """,
    ),
    "whole_trees": (
        4,
        """
        def step(self, grads, params):
            for _ in range(2):
                draws = jax.random.split(self.key(), 2)
                for draw in draws:
                    grads = jax.tree.map(
                        lambda g: dropout(g, jax.random.fold_in(draw, g.ndim), rate=0.5), grads
                    )
            return grads
        """,
    ),
    "optimizers": (
        5,
        """
        optimizers: SubOptimizers  #: which draw

        def step(self, grads, params):
            for optimizer in self.optimizers:
                grads = optimizer(optimizer(grads, params), params)
            draw = self.key()
            return jax.tree.map(
                lambda g: dropout(g, jax.random.fold_in(draw, g.ndim), rate=0.5), grads
            )
        """,
    ),
    "a_function_inside_of_update": (
        3,
        """
        def update(self, grad, param):
            def dropped(g):
                return dropout(g, self.key(), rate=0.5)

            return dropped(dropped(dropout(grad, self.key(), rate=0.5)))
        """,
    ),
    "loops_of_jax_inside_of_update": (
        6,
        """
        def update(self, grad, param):
            def body(i, g):
                return dropout(g, self.key(), rate=0.5)

            grad = lax.fori_loop(0, 2, body, grad)
            masks = [dropout(jnp.ones_like(grad), self.key(), rate=0.5) for _ in range(3)]
            for mask in masks:
                grad = grad * mask
            return lax.cond(
                grad.ndim > 0, lambda g: dropout(g, self.key(), rate=0.5), lambda g: g, grad
            )
        """,
    ),
    "leaves_of_a_step": (
        3,
        """
        def step(self, grads, params):
            grads = jax.tree.map(lambda g: dropout(g, self.key(), rate=0.5), grads)

            def dropped(g):
                g = dropout(g, self.key(), rate=0.5)
                return dropout(g, self.key(), rate=0.5)

            return jax.tree.map(dropped, grads)
        """,
    ),
    "a_generator_in_a_step": (
        2,
        """
        def step(self, grads, params):
            draws = tuple(self.key() for _ in range(2))
            once = jax.tree.map(
                lambda g: dropout(g, jax.random.fold_in(draws[0], g.ndim), rate=0.5), grads
            )
            return jax.tree.map(
                lambda g: dropout(g, jax.random.fold_in(draws[1], g.ndim), rate=0.5), once
            )
        """,
    ),
}
SECTIONS = {"Layer": "nn", "Block": "block", "Optimizer": "optim"}
KEY = jax.random.key(7)
ONES = jnp.ones((128, 128))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    inner = """
        def update(self, grad, param):
            return dropout(grad, self.key(), rate=0.5)
        """
    specs = []
    for base, bodies in (
        ("Layer", LAYERS),
        ("Block", BLOCKS),
        ("Optimizer", OPTIMIZERS | {"one_draw": (1, inner)}),
    ):
        for name, (_, body) in bodies.items():
            head = HEADER.format(name=name.title().replace("_", ""), base=base)
            if "HandedOn(" in body:
                head = head.replace("\n\n\nclass", f"\n{HANDED}\n\nclass")
            text = head + textwrap.indent(textwrap.dedent(body), "    ")
            path = f"specs/{SECTIONS[base]}/{name}.py"
            specs.append(SpecFile(path, SECTIONS[base], text))
    with importable(specs, words, tmp_path_factory.mktemp("draws")) as made:
        yield made


def assert_survivors(y: Any, draws: int) -> None:
    """As many elements are left as independent draws leave: within 6 deviations."""
    expected = 0.5**draws
    allowed = 6 * (expected * (1 - expected) / y.size) ** 0.5
    assert abs(float(jnp.mean(y != 0)) - expected) < allowed


def created(module: Any) -> Any:
    try:
        return module.init(KEY)
    except TypeError:  # a layer without weights
        return module.init()


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, examples: Examples):
    module = examples.module("nn", name)
    trainables, state, hyperparams = created(module)

    def fwd(x: Any, key: Any, inference_mode: bool = False) -> Any:
        return module.fwd(x, trainables, state, hyperparams, inference_mode, key)[0]

    assert_key_is_used_once(fwd, ONES, KEY, what=name)
    assert_key_is_used_once(lambda x, k: fwd(x, k, True), ONES, KEY, what=name)
    y = fwd(ONES, KEY)
    assert_survivors(y, LAYERS[name][0])
    layer = examples.oracle("nn", name)()
    layer.load(trainables, state)
    np.testing.assert_array_equal(y, layer(ONES, training=True, key=KEY))


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name: str, examples: Examples):
    drop = examples.module("nn", "dropout").init(0.5)
    layers = {"layer": drop, "layers": [drop] * 2}
    module = examples.module("block", name)
    trainables, state, hyperparams = module.init(**layers)

    def fwd(x: Any, key: Any) -> Any:
        return module.fwd(x, trainables, state, hyperparams, False, key)[0]

    assert_key_is_used_once(fwd, ONES, KEY, what=name)
    y = fwd(ONES, KEY)
    assert_survivors(y, BLOCKS[name][0])
    block = examples.oracle("block", name)(**layers)
    np.testing.assert_array_equal(y, block(ONES, training=True, key=KEY))
    np.testing.assert_array_equal(
        module.fwd(ONES, trainables, state, hyperparams, True)[0], ONES
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str, examples: Examples):
    params = {"a": ONES, "b": ONES[0]}
    given = {}
    if "optimizers" in name:
        given = {"optimizers": [examples.module("optim", "one_draw").init(params)] * 2}
    module = examples.module("optim", name)
    state, hyperparams = module.init(**given) if given else module.init(params)

    def step(grads: Any, key: Any) -> Any:
        return module.step(grads, state, params, hyperparams, key=key)[0]

    assert_key_is_used_once(step, params, KEY, what=name)
    updates = step(params, KEY)
    assert_survivors(updates["a"], OPTIMIZERS[name][0])
    oracle = examples.oracle("optim", name)(**given)
    oracle.initialize(params)
    expected = oracle.step(params, params, key=KEY)
    jax.tree.map(np.testing.assert_array_equal, updates, expected)
    with pytest.raises(ValueError, match="key"):
        step(params, None)
