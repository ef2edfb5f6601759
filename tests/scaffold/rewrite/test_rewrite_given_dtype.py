"""Layers that no input gives a dtype compute in that of what they are part of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from differential import as_dict, assert_same
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.testing.audit import audit_function

HEAD = """
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Layer, Size, normal, ones, state, trainable
from mlax_scaffold.spec import zeros


"""
TABLE = '''
class Table(Layer):
    """Rows of a table, times a count that is kept: no input is floating."""

    rows: Size = 5

    def setup(self):
        self.table = trainable(normal(1.0), (self.rows, 2))
        self.scales = [trainable(ones, (2,)) for _ in range(2)]
        self.calls = state(zeros, (), jnp.int32)

    def forward(self, index: Int["..."]) -> Float["... 2"]:
        self.calls = self.calls + 1
        return self.table[index] * self.scales[0] * self.scales[1]
'''
POSITIONS = '''
class Positions(Layer):
    """A learned table: its input says no dtype, and it changes nothing."""

    def setup(self):
        self.table = trainable(normal(1.0), (5, 2))

    def forward(self, index: Int["..."]) -> Float["... 2"]:
        return self.table[index]
'''
NESTED = '''
from specs.nn.table import Table


class Nested(Layer):
    """A layer that is one in another."""

    def setup(self):
        self.inner = Table()
        self.shift = trainable(ones, (2,))

    def forward(self, index: Int["..."]) -> Float["... 2"]:
        return self.inner(index) + self.shift + self.inner.table[0]
'''
OUTER = """
from specs.nn.nested import Nested
from specs.nn.positions import Positions
from specs.nn.table import Table


class {name}(Layer):
    \"\"\"Adds what another layer makes of integers.\"\"\"

    def setup(self):
        {setup}
{method}
    def forward(self, x: Float["batch 2"], index: Int["batch"]) -> Float["batch 2"]:
        return x + {call}
"""
METHOD = """
    def embedded(self, index):
        return self.table(index)
"""
BODIES = {
    "once": ("self.table = Table()", "", "self.table(index)"),
    "twice": (
        "self.table = Table()",
        "",
        "self.table(index) + self.table(index + 1)",
    ),
    "nesting": ("self.table = Nested()", "", "self.table(index)"),
    "by_method": ("self.table = Table()", METHOD, "self.embedded(index)"),
    "listed": (
        "self.tables = [Table() for _ in range(2)]",
        "",
        "sum([table(index) for table in self.tables])",
    ),
    "mixed": (
        'self.tables = {"a": Positions(), "b": Nested()}',
        "",
        'self.tables["a"](index) + self.tables["b"](index)',
    ),
    "mapped": ("self.table = Positions()", "", "jax.vmap(self.table)(index)"),
}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    texts = {"table": TABLE, "positions": POSITIONS, "nested": NESTED}
    for name, (setup, method, call) in BODIES.items():
        title = name.title().replace("_", "")
        texts[name] = OUTER.format(name=title, setup=setup, method=method, call=call)
    specs = [SpecFile(f"specs/nn/{n}.py", "nn", HEAD + t) for n, t in texts.items()]
    with importable(specs, words, tmp_path_factory.mktemp("given")) as made:
        yield made


def inputs(dtype: str) -> tuple[Any, Any]:
    return jnp.ones((3, 2), dtype), jnp.arange(3)


@pytest.mark.parametrize("weights", ["float32", "bfloat16"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", BODIES)
def test_equals_the_spec_and_widens_nothing(examples, name, dtype, weights):
    module = examples.module("nn", name)
    layer = module.init(jax.random.key(0), dtype=weights)
    x = inputs(dtype)
    y, state = module.fwd(x, *layer)
    assert y.dtype == dtype
    eager = examples.oracle("nn", name)()
    eager.load(*layer[:2])
    assert_same(y, eager(x))
    if state is not None:
        assert_same(as_dict(state), eager.non_trainables)
    assert not audit_function(
        lambda *a: module.fwd(*a, layer[2])[0], x, *layer[:2], compute_dtype=dtype
    )


@pytest.mark.parametrize("name", ["once", "listed", "mixed"])
def test_gradients_are_in_the_dtype_of_the_weights(examples, name):
    module = examples.module("nn", name)
    weights, state, hyperparams = module.init(jax.random.key(0), dtype="float32")

    def loss(weights: Any) -> Any:
        return module.fwd(inputs("bfloat16"), weights, state, hyperparams)[0].sum()

    gradients = jax.tree.leaves(jax.grad(loss)(weights))
    assert {g.dtype for g in gradients} == {jnp.dtype("float32")}
    assert all(jnp.any(g != 0) for g in gradients)


def test_alone_it_computes_in_the_dtype_of_its_weights(examples: Examples):
    table = examples.module("nn", "table")
    y, _ = table.fwd(jnp.arange(3), *table.init(jax.random.key(0), dtype="bfloat16"))
    assert y.dtype == "bfloat16"
