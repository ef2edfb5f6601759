"""Attributes of `setup` that are other names of what stands in a container are that, and no copies of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from differential import assert_runs_alike, created, examples_of, rows
from rewrite_examples import Examples

LAYERS = {
    "names_of_places": """
        depth: Size = 3  #: number of layers

        def setup(self):
            self.row = [Counter() for _ in range(self.depth)]
            self.first = self.row[0]
            self.last = self.row[self.depth - 1]
            self.table = {"map": Plain(3), "inner": [Plain(3), Counter()]}
            self.map = self.table["map"]
            self.inner = self.table["inner"]
            self.deep = self.table["inner"][-1]
            self.kernels = [trainable(normal(1.0), (3,)) for _ in range(2)]
            self.kernel = self.kernels[1]
            self.books = [{"n": state(zeros, ())} for _ in range(2)]
            self.book = self.books[0]
            self.n = self.books[1]["n"]

        def _counted(self, x):
            self.n = self.n + 2.0
            self.book["n"] = self.book["n"] + 1.0
            return x + self.books[0]["n"] * self.books[1]["n"]

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self.last(self.first(x))
            for layer in self.row:
                x = layer(x)
            x = self.map(x) + self.table["map"](x)
            x = self.deep(self.inner[0](x)) * self.kernel + self.kernels[1]
            return self._counted(x) * self.map.scale
        """,
    "one_layer_in_two_containers": """
        def setup(self):
            one = Plain(3)
            self.row = [one, Plain(3)]
            self.table = {"one": one}

        def forward(self, x: Float["..."]) -> Float["..."]:
            return self.row[0](self.table["one"](x))
        """,
}


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    root = tmp_path_factory.mktemp("names")
    with examples_of(LAYERS, root, words, example_files) as made:
        yield made


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("depth", [1, 3])
def test_layers(depth: int, training: bool, examples: Examples):
    module: Any = examples.module("nn", "names_of_places")
    layer = examples.oracle("nn", "names_of_places")(depth)
    made = created(module, depth=depth)
    assert_runs_alike(module, layer, made, rows(), training)


def test_they_are_no_weights_and_no_states(examples: Examples):
    module: Any = examples.module("nn", "names_of_places")
    weights, state, hyperparams = created(module)
    assert weights._fields == ("table", "kernels")
    assert state._fields == ("row", "table", "books")
    y, new = module.fwd(rows(), weights, state, hyperparams, True)
    assert [layer.count for layer in new.row] == [2.0, 1.0, 2.0]
    assert new.table["inner"][1].count == 1.0
    assert [book["n"] for book in new.books] == [1.0, 2.0]
    scale, kernel = weights.table["map"].scale, weights.kernels[1]
    # Each counter adds how often it has been called.
    x = np.asarray(rows(), np.float64) + (1 + 1) + (2 + 1 + 2)
    x = (2.0 * x * scale * weights.table["inner"][0].scale + 1.0) * kernel + kernel
    np.testing.assert_allclose(y, (x + 2.0) * scale, rtol=1e-5)


def test_one_layer_in_two_containers_is_refused(examples: Examples):
    module: Any = examples.module("nn", "one_layer_in_two_containers")
    with pytest.raises(ValueError, match="stands at several places"):
        module.init(jax.random.key(0))
