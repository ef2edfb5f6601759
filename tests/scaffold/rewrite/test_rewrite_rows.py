"""Fields that are tuples of values of several words, or sequences of such tuples."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import pytest
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.testing.compare import assert_matches

STAGES = '''
from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


class Stages(Layer):
    """Scales in stages."""

    features: Size
    stages: tuple[tuple[Size, float], ...] = ((1, 0.5), (2, 2.0))
    last: tuple[int, str] | None = None

    def setup(self):
        self.scales = [trainable(ones, (self.features,)) for _ in self.stages]

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        for (times, factor), scale in zip(self.stages, self.scales):
            for _ in range(times):
                x = x * factor * scale
        if self.last is not None and self.last[1] == "add":
            x = x + self.last[0]
        return x
'''
SPECS = (SpecFile("specs/nn/stages.py", "nn", STAGES),)
X = jnp.arange(6.0).reshape(2, 3)
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    with importable(SPECS, words, tmp_path_factory.mktemp("rows")) as made:
        yield made


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, X * 2),
        ({"stages": [[3, 2]], "last": [1, "add"]}, X * 8 + 1),
        ({"stages": {1: 0.5, 2: 3.0}}, X * 4.5),
    ],
)
def test_equals_the_spec(examples: Examples, fields: dict, expected: jax.Array):
    trees = examples.module("nn", "stages").init(KEY, 3, **fields)
    y, _ = examples.module("nn", "stages").fwd(X, *trees)
    assert_matches(expected, y, jnp.float32)
    layer = examples.oracle("nn", "stages")(3, **fields)
    layer.load(*trees[:2])
    assert_matches(layer(X), y, jnp.float32)
    assert all(isinstance(row, tuple) for row in trees[2].stages)
    assert hash(trees[2]) == hash(trees[2])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"stages": [(1,)]}, r"stages\[0\] must be a sequence of 2 values, got \(1,\)"),
        ({"stages": [(0, 1.0)]}, r"stages\[0\]\[0\] must be an integer of at least 1"),
        ({"stages": 3}, "stages must be a sequence, got 3"),
        ({"last": "ab"}, "last must be a sequence of 2 values, got 'ab'"),
    ],
)
def test_others_are_refused(examples: Examples, fields: dict, message: str):
    for make in (
        lambda: examples.module("nn", "stages").init(KEY, 3, **fields),
        lambda: examples.oracle("nn", "stages")(3, **fields),
    ):
        with pytest.raises(ValueError, match=message):
            make()
