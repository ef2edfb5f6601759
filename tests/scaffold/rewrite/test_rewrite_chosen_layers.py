"""A name that branches and loops give one layer or another is, at each call, the one that Python has there.

The reference is the text of `forward` itself, run by Python on objects that count and scale.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import created, examples_of
from rewrite_examples import Examples

DEPTH = 4

SETUP = """
depth: Size = 4  #: number of layers
shared: bool = False  #: whether another one is taken

def setup(self):
    self.row = [Pair() for _ in range(self.depth)]
    self.table = [[Pair() for _ in range(self.depth)] for _ in range(2)]

def _twice(self, layer, x):
    x = layer(x)
    layer = self.table[1][0]
    return layer(x)
"""

BODIES = {
    "by_a_condition": """
        for i in range(self.depth):
            layer = self.row[0] if self.shared else self.row[i]
            x = layer(x)
        return x
        """,
    "by_two_conditions": """
        for i in range(self.depth):
            first = self.row[0] if self.shared else self.row[i]
            x = (first if i < 2 else self.row[-1])(x)
        return x
        """,
    "by_branches": """
        for i in range(self.depth):
            if self.shared:
                layer, other = self.row[0], self.row[-1]
            else:
                layer, other = self.row[i], self.row[i - 1]
            x = layer(x) - other(x)
        return x
        """,
    "of_the_pass_before": """
        layer = self.row[0]
        for i in range(1, self.depth):
            x = layer(x)
            layer = self.row[i]
        return x
        """,
    "of_an_earlier_pass": """
        for i in range(self.depth):
            if i > 0:
                x = before(x)
            before = self.row[i]
        return x
        """,
    "of_some_passes": """
        for i in range(self.depth):
            if i % 2 == 0:
                layer = self.row[i]
            x = layer(x)
        return x
        """,
    "by_an_index_that_changes": """
        i = 0
        layer = self.row[i]
        i = self.depth - 1
        return self.row[i](layer(x))
        """,
    "in_place_of_a_variable": """
        for layer in self.row:
            if self.shared:
                layer = self.row[0]
            x = layer(x)
        return x
        """,
    "one_after_the_other": """
        layer = self.row[0]
        x = layer(x)
        layer = self.row[-1]
        return layer(x)
        """,
    "of_a_count": """
        i = 0
        while i < self.depth:
            layer = self.row[i]
            x = layer(x)
            i += 1
        return x
        """,
    "of_a_count_that_runs_ahead": """
        i = 0
        while i < self.depth:
            layer = self.row[i]
            i += 1
            x = layer(x)
        return x
        """,
    "in_place_of_a_parameter": """
        for layer in self.row:
            x = self._twice(layer, x)
        return x
        """,
    "when_a_function_is_called": """
        layer = self.row[0]
        later = lambda x: layer(x)
        x = later(x)
        layer = self.row[-1]
        return later(x)
        """,
    "of_an_inner_list": """
        for layers in self.table:
            for i in range(self.depth):
                layer = layers[0] if self.shared else layers[i]
                x = layer(x)
        return x
        """,
    "of_an_inner_list_of_before": """
        last = self.table[0][0]
        for layers in self.table:
            for layer in layers:
                x = last(x)
                last = layer
        return x
        """,
}

STATES = """
shared: bool = False  #: whether another one is taken

def setup(self):
    self.books = [{"n": state(zeros, ())} for _ in range(3)]

def forward(self, x: Float["..."]) -> Float["..."]:
    book = self.books[0] if self.shared else self.books[1]
    book["n"] = book["n"] + 1.0
    for i in range(2):
        if i or not self.shared:
            book = self.books[2]
        book["n"] = book["n"] + 1.0
    return x
"""


class _Pair:
    """What `Pair` is, in Python."""

    def __init__(self, scale: Any) -> None:
        self.scale = scale
        self.count = 0

    def __call__(self, x: Any) -> Any:
        self.count += 1
        return x * self.scale + self.count


class _Example:
    def __init__(self, weights: Any, shared: bool) -> None:
        self.depth, self.shared = DEPTH, shared
        self.row = [_Pair(w.plain.scale) for w in weights.row]
        self.table = [[_Pair(w.plain.scale) for w in row] for row in weights.table]

    def _twice(self, layer: Any, x: Any) -> Any:
        return self.table[1][0](layer(x))


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    root = tmp_path_factory.mktemp("chosen")
    head = '\ndef forward(self, x: Float["..."]) -> Float["..."]:\n'
    texts = {
        name: SETUP + head + textwrap.indent(textwrap.dedent(body), "    ")
        for name, body in BODIES.items()
    }
    texts["states"] = STATES
    with examples_of(texts, root, words, example_files) as made:
        yield made


def _plain(body: str, example: _Example, x: Any) -> Any:
    names: dict[str, Any] = {}
    exec(
        "def forward(self, x):\n" + textwrap.indent(textwrap.dedent(body), "    "),
        names,
    )
    return names["forward"](example, x)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_it_is_the_layer_that_python_has_there(
    name: str, shared: bool, examples: Examples
):
    module: Any = examples.module("nn", name)
    weights, state, hyperparams = created(module, depth=DEPTH, shared=shared)
    leaves, shape = jax.tree.flatten(weights)
    drawn = np.random.default_rng(0).uniform(0.5, 1.5, (len(leaves), 3))
    weights = jax.tree.unflatten(shape, [*jnp.asarray(drawn, jnp.float32)])
    plain = _Example(weights, shared)
    x = jnp.arange(6.0).reshape(2, 3)
    y, new = module.fwd(x, weights, state, hyperparams, True)
    np.testing.assert_allclose(y, _plain(BODIES[name], plain, x), rtol=1e-5)
    assert [int(s.counter.count) for s in new.row] == [p.count for p in plain.row]
    table = [[int(s.counter.count) for s in row] for row in new.table]
    assert table == [[p.count for p in row] for row in plain.table]


@pytest.mark.parametrize(("shared", "counts"), [(True, [2, 0, 1]), (False, [0, 1, 2])])
def test_states_of_a_place_that_is_chosen_are_set_there(
    shared: bool, counts: list[int], examples: Examples
):
    module: Any = examples.module("nn", "states")
    weights, state, hyperparams = created(module, shared=shared)
    _, new = module.fwd(jnp.ones(3), weights, state, hyperparams)
    assert [int(book["n"]) for book in new.books] == counts
